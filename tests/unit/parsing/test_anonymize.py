"""Names in every case and accent form."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.anonymize import anonymize_text, joined_names, name_pattern, names_in


def hide(text: str, *names: str) -> str:
    pattern = name_pattern(names)
    assert pattern is not None
    return anonymize_text(text, pattern)


@pytest.mark.parametrize(
    "written",
    [
        "José Pérez",
        "JOSÉ PÉREZ",
        "jose perez",
        "Jose Pérez",
        "Josè Pêrez",
        unicodedata.normalize("NFD", "José Pérez"),
        "José  Pérez",
        "José\u00a0Pérez",
        "jose.perez",
        "jose_perez",
        "Jose-Perez",
        "joseperez",
        "José%20Pérez",
    ],
)
def test_every_form(written: str) -> None:
    for name in ("José Pérez", "jose perez", "JOSE PÉREZ"):
        assert hide(f"de {written}, sí; ({written})", name) == "de [anonymized], sí; ([anonymized])"


def test_over_a_line_end_and_in_a_quote_the_lines_stay() -> None:
    assert hide("por José\nPérez hoy", "José Pérez") == "por [anonymized]\n hoy"
    assert hide("> por José\n> Pérez hoy", "José Pérez") == "> por [anonymized]\n hoy"


def test_parts_of_other_words_stay() -> None:
    assert hide("Ana, Anaconda, Susana, banana, ana@x.org, Ana's", "Ana") == (
        "[anonymized], Anaconda, Susana, banana, [anonymized]@x.org, [anonymized]'s"
    )


def test_the_longest_name_wins() -> None:
    assert hide("Ana María López y Ana", "Ana", "Ana María López") == "[anonymized] y [anonymized]"


@pytest.mark.parametrize(
    ("name", "text"), [("Łukasz Øst", "lukasz ost"), ("Müller", "MULLER"), ("O'Neill", "ONeill"), ("A.B. (x)", "a b x")]
)
def test_letters_and_marks_of_other_languages(name: str, text: str) -> None:
    assert hide(text, name) == "[anonymized]"


def test_no_names_no_pattern() -> None:
    assert name_pattern(()) is None
    assert name_pattern(("", "  ", "...")) is None


def test_names_of_a_note_and_of_the_vault() -> None:
    assert names_in({"Anonymize": ["Ana López", None, "José"]}) == ("Ana López", "José")
    assert names_in({"anonymize": "Ana López, José"}) == ("Ana López", "José")
    assert names_in({"anonimizar": ["Ana"]}) == ("Ana",)
    assert names_in({}) == ()
    assert joined_names(["b", "a "], ["a", ""]) == ("a", "b")


@given(st.text(alphabet="aáàñnoóOÓ zl", min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_form_of_any_name_is_found(name: str, random_: object) -> None:
    if not name.strip():
        return
    plain = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
    for form in (name, name.upper(), name.lower(), plain, plain.upper(), unicodedata.normalize("NFD", name)):
        assert hide(f"<{form}>", name).replace(" ", "") == "<[anonymized]>"
