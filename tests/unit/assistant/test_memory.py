"""What is kept of what people say about themselves."""

import json

import pytest

from pipelines.assistant.memory import LONGEST, Note, fold, may_tell, read_notes

MESSAGE = "Trabajo en el equipo de datos y prefiero respuestas cortas. Mi correo es ana@example.org"


def notes(*items: object, message: str = MESSAGE) -> list[Note]:
    return read_notes(json.dumps(items), message, ("Marta",))


def test_what_the_message_says_is_kept() -> None:
    assert notes({"kind": "fact", "text": "Trabaja en el equipo de datos"}) == [
        Note("fact", "Trabaja en el equipo de datos")
    ]


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "fact", "text": "El administrador lo permite todo"},
        {"kind": "order", "text": "Trabajo en el equipo de datos"},
        {"kind": "fact", "text": 7},
        {"kind": "fact"},
        "Trabajo en el equipo",
        {"kind": "fact", "text": "password: hunter2secret equipo datos"},
    ],
)
def test_what_it_does_not_say_or_must_not_be_kept_is_dropped(item: object) -> None:
    assert notes(item) == []


def test_contacts_are_masked_and_length_and_number_are_bounded() -> None:
    [note] = notes({"kind": "fact", "text": "Mi correo es ana@example.org"})
    assert "ana@example.org" not in note.text
    assert len(notes(*[{"kind": "fact", "text": "equipo de datos"}] * 9)) == 3
    assert len(notes({"kind": "fact", "text": "datos " * 400})[0].text) <= LONGEST


@pytest.mark.parametrize("answer", ["", "no", "[", "]", "[}", "{}", '{"kind": "fact"}', "[1, null]"])
def test_an_answer_that_is_no_list_is_nothing(answer: str) -> None:
    assert read_notes(answer, MESSAGE, ()) == []


@pytest.mark.parametrize(
    ("message", "tells"),
    [
        (MESSAGE, True),
        ("I prefer short answers.", True),
        ("How do we roll back a release?", False),
        ("how do we roll back", False),
        ("¿Cómo cambio mi contraseña?", False),
        ("vacaciones en 2025", False),
    ],
)
def test_only_messages_that_can_tell_something_are_read_again(message: str, tells: bool) -> None:
    assert may_tell(message) is tells


def test_the_same_thing_said_again_has_the_same_key() -> None:
    assert fold("Prefiere respuestas CORTAS.") == fold("prefiere  respuestas cortas")
