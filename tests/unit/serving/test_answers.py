"""Answers hold whole records, in a bounded size."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.retrieval.fence import escape
from pipelines.retrieval.snippet import SNIPPET, snippet
from pipelines.serving.answers import cut_text, fit

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)


@given(st.lists(TEXTS, max_size=12), st.integers(80, 600))
def test_records_fit_whole_in_order_and_at_least_one(texts: list[str], most: int) -> None:
    records = [{"text": text} for text in texts]
    kept = fit(records, most=most)
    assert sum(len(escape(record)) + 1 for record in kept) <= most
    if len(kept) == 1 and kept[0].get("cut"):
        assert texts[0].startswith(kept[0]["text"])
    else:
        assert kept == records[: len(kept)]
    assert bool(kept) is bool(records)


@given(TEXTS, st.integers(2, 300))
def test_a_cut_text_is_the_longest_beginning(text: str, most: int) -> None:
    part = cut_text(text, most=most)
    assert text.startswith(part)
    assert len(escape(part)) <= most
    assert part == text[:most] or len(escape(text[: len(part) + 1])) > most


@given(TEXTS, TEXTS)
def test_a_snippet_is_a_bounded_piece(content: str, query: str) -> None:
    long = content * 5
    part = snippet(long, query)
    assert len(part) <= SNIPPET + 4
    assert part.removeprefix("… ").removesuffix(" …") in long


def test_a_snippet_shows_the_words_that_were_asked_for() -> None:
    content = "filler words " * 100 + "the contraseña of the portal " + "more filler " * 100
    assert "contraseña of the portal" in snippet(content, "Contrasena portal?")
    assert snippet("short", "anything") == "short"
