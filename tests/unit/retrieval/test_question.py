"""What is asked is cleaned, bounded and checked."""

from datetime import UTC, date, datetime

import pytest

from pipelines.errors import InvalidQuery
from pipelines.retrieval.question import ask


def test_text_is_cleaned() -> None:
    question = ask("  cancio\u0301n\x00 \n de\tcuna \ud800 ", most=100)
    assert question.text == "canción de cuna"
    assert question.notice is None


def test_long_text_is_cut_with_a_notice() -> None:
    question = ask("x" * 101, most=100)
    assert len(question.text) == 100
    assert question.notice == "the question was cut to its first 100 characters"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "fuzzy"}, "mode 'fuzzy' is not one of hybrid, vector, text"),
        ({"k": 0}, "k must be 1 or more"),
        ({"since": "yesterday"}, "since='yesterday' is not an ISO 8601 date"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        ask("q", most=100, **arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_filters() -> None:
    question = ask(
        "q", most=100, folder="Año nuevo/", tags=["#Cocina", "faq "], since="2026-01-31", until=date(2026, 2, 1)
    )
    assert question.filters.folders == ("Año nuevo", "A%C3%B1o%20nuevo")
    assert question.filters.prefix == "Año nuevo/"
    assert question.filters.tags == ("cocina", "faq")
    assert question.filters.since == datetime(2026, 1, 31, tzinfo=UTC)
    assert question.filters.until == datetime(2026, 2, 1, tzinfo=UTC)
    assert question.filters.narrow
    assert not ask("q", most=100).filters.narrow


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("es", "es"),
        ("es_MX", "es"),
        ("EN-gb", "en"),
        ("fr", "simple"),
        ("estonian", "simple"),
        (" ", None),
        (None, None),
    ],
)
def test_locale(locale: str | None, language: str | None) -> None:
    assert ask("q", most=100, locale=locale).language == language
