"""Short questions show their language by function words, letters, and by which notes use their words."""

import pytest

from pipelines.retrieval.language import guess_language
from pipelines.storage.search import Term

BOTH = ("en", "es")


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("how do I roll back a deploy", "en"),
        ("cómo deshago un despliegue", "es"),
        ("como deshago el despliegue", "es"),
        ("¿contraseña?", "es"),
        ("what is the RPO", "en"),
        ("copia de seguridad", "es"),
        ("CRV-2104", None),
        ("🙂", None),
        ("", None),
    ],
)
def test_function_words_and_letters(question: str, language: str | None) -> None:
    assert guess_language(question, [], BOTH) == language


def test_the_vocabulary_of_the_notes_decides_where_nothing_else_does() -> None:
    def term(language: str, held_by: int) -> Term:
        return Term(language, "x", (1,), False, False, 1_000.0, 50.0, held_by)

    assert guess_language("cambiar clave", [term("en", 0), term("es", 40)], BOTH) == "es"
    assert guess_language("change key", [term("en", 40), term("es", 0)], BOTH) == "en"
    assert guess_language("kafka", [term("en", 40), term("es", 40)], BOTH) is None


def test_only_languages_of_the_index_are_guessed() -> None:
    assert guess_language("cómo se hace", [], ("en",)) == "en"
    assert guess_language("cómo se hace", [], ()) is None
    assert guess_language("comment faire", [], ("simple",)) == "simple"
