"""Promise 8: notes that say so stay out."""

import pytest

from pipelines.parsing.document import Json
from pipelines.parsing.publication import exclusion_reason


@pytest.mark.parametrize(
    "properties",
    [
        {"rag": False},
        {"RAG": False},
        {"rag": "false"},
        {"rag": "no"},
        {"rag": "off"},
        {"rag": 0},
        {"rag": "privado"},
        {"rag": ["false"]},
        {"draft": True},
        {"draft": "yes"},
        {"draft": "sí"},
        {"draft": "until june"},
        {"borrador": True},
        {"publish": False},
        {"publish": "no"},
        {"published": False},
        {"rag": True, "draft": True},
        {"publish": True, "rag": False},
    ],
)
def test_excluded(properties: dict[str, Json]) -> None:
    assert exclusion_reason(properties, "all")
    assert exclusion_reason(properties, "opt-in")


@pytest.mark.parametrize(
    "properties",
    [{}, {"rag": True}, {"rag": "yes"}, {"rag": None}, {"draft": False}, {"draft": "no"}, {"published": "2026-05-24"}],
)
def test_published(properties: dict[str, Json]) -> None:
    assert exclusion_reason(properties, "all") is None


def test_opt_in_takes_only_what_says_so() -> None:
    assert exclusion_reason({}, "opt-in")
    assert exclusion_reason({"title": "x", "publish": "later"}, "opt-in")
    assert exclusion_reason({"rag": True}, "opt-in") is None
    assert exclusion_reason({"publish": "sí"}, "opt-in") is None


def test_a_reason_repeats_no_text_of_the_note() -> None:
    assert "Ana" not in (exclusion_reason({"draft": "ask Ana first"}, "all") or "")
