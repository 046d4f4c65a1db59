"""Which questions lean on the one before, and what they mean alone."""

import pytest

from pipelines.assistant.followup import LONGEST, leans, resolve

HOLIDAYS = "vacaciones en 2025"
ROLLBACK = "How do we roll back a release?"


@pytest.mark.parametrize(
    ("previous", "question", "resolved"),
    [
        (HOLIDAYS, "¿y el año siguiente?", "vacaciones en 2026"),
        (HOLIDAYS, "¿Y el año que viene?", "vacaciones en 2026"),
        (HOLIDAYS, "y el año anterior", "vacaciones en 2024"),
        ("holidays in 2025", "and the next year?", "holidays in 2026"),
        ("holidays in 2025", "what about the year before?", "holidays in 2024"),
        (HOLIDAYS, "¿y en 2023?", "vacaciones en 2023"),
        (HOLIDAYS, "¿y en Francia?", "vacaciones en 2025, en Francia"),
        (ROLLBACK, "and who approves it?", "How do we roll back a release, who approves it"),
        (ROLLBACK, "why?", ROLLBACK.rstrip("?") + "?"),
        (ROLLBACK, "tell me more", ROLLBACK),
        (ROLLBACK, "¿por qué?", ROLLBACK),
        (ROLLBACK, "what does that cost?", "How do we roll back a release, what does that cost"),
    ],
)
def test_a_leaning_question_is_resolved(previous: str, question: str, resolved: str) -> None:
    assert leans(question, previous)
    assert resolve(question, previous) == resolved


@pytest.mark.parametrize(
    "question",
    [
        "¿Cuándo se paga la nómina de diciembre?",
        "nóminas",
        "How do feature flags work?",
        "How do I restart the payment service when it hangs?",
        "¿y cómo roto la clave de firma del servicio?",
        "¿Qué hace una persona de guardia?",
        "impresora planta tercera",
    ],
)
def test_a_question_that_stands_alone_is_not_dragged_to_the_old_topic(question: str) -> None:
    assert not leans(question, HOLIDAYS)
    assert resolve(question, HOLIDAYS) == question


def test_the_first_question_leans_on_nothing_and_length_is_bounded() -> None:
    assert resolve("¿y el año siguiente?", None) == "¿y el año siguiente?"
    assert len(resolve("¿y en Francia?", "x" * 5_000)) <= LONGEST
