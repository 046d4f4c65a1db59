"""Which language a document is in."""

from pathlib import Path

import pytest

from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.locale import locale_for
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import media_type_of, parse

SPANISH = "Cómo se cambia la contraseña del portal de empleados cuando ha caducado."
ENGLISH = "How to change the password of the staff portal once it has expired."


def detected(source: str, languages: tuple[str, ...] = ("en", "es")) -> str | None:
    return parse(
        source.encode(), media_type="markdown", options=ParseOptions(detect_languages=languages)
    ).detected_locale


def test_detection() -> None:
    assert detected(SPANISH) == "es"
    assert detected(ENGLISH) == "en"
    assert detected(f"---\ntitle: Password of the portal\n---\n# Portal\n\n{SPANISH}") == "es"


def test_code_does_not_decide() -> None:
    assert detected("```\nif password has expired then return the error to the user\n```\n\n" + SPANISH) == "es"


@pytest.mark.parametrize("source", ["", "# A", "12345 67890 2026", "kubectl"])
def test_too_little_says_nothing(source: str) -> None:
    assert detected(source) is None


def test_the_choice_is_a_setting() -> None:
    assert detected("Ceci est un texte en français, pour voir si la langue est reconnue.", ("en", "es", "fr")) == "fr"
    assert detected(ENGLISH, ()) is None
    assert detected(ENGLISH, ("es",)) == "es"
    assert detected(SPANISH, ("en", "es", "zz")) == "es"


@pytest.mark.parametrize(
    ("source", "declared", "found", "locale"),
    [
        ("es/notes/a.md", "en", "es", "en"),
        ("es/notes/a.md", None, "en", "es"),
        ("docs/EN/a.md", None, "es", "en"),
        ("docs/es-ES/a.md", None, "en", "es"),
        ("docs/pt_BR/a.md", None, "en", "pt"),
        ("notes/a.md", None, "es", "es"),
        ("notes/es.md", None, None, "en"),
        ("notes/is/a.md", None, None, "en"),
        ("a.md", None, None, "en"),
    ],
)
def test_what_is_said_beats_the_folder_beats_the_look(
    source: str, declared: str | None, found: str | None, locale: str
) -> None:
    document = ParsedDocument("text", declared_locale=declared, detected_locale=found)
    assert locale_for(source, document, default="en") == locale


@pytest.mark.shared
def test_real_notes(shared_data: Path) -> None:
    """The help vault and the glossary in both languages: at least 99 % right without looking at folders."""
    right = seen = 0
    for root in (shared_data / "help_vault", shared_data / "glossary_en_es" / "content"):
        for language in ("en", "es"):
            for path in sorted((root / language).rglob("*.md")):
                media_type = media_type_of(path.name)
                assert media_type is not None
                document = parse(path.read_bytes(), media_type=media_type, options=ParseOptions())
                seen += document.excluded_reason is None  # 16 notes of the glossary are drafts
                right += document.detected_locale == language
    assert seen > 500
    assert right >= 0.99 * seen
