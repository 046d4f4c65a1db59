"""The heading path of a block, and what of it is embedded."""

import pytest

from pipelines.chunking.chunker import ChunkOptions
from pipelines.chunking.headings import find_leads, find_places, heading_text
from pipelines.chunking.tokens import ChunkTokenizer


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Title", "Title"),
        ("### A  b\tc ##", "A b c"),
        ("#hashtag", "#hashtag"),
        ("C# and F#", "C# and F#"),
        ("Two\nlines\n=====", "Two lines"),
        ("Under\n---", "Under"),
        ("##", ""),
        ("x" * 5000, "x" * 199 + "…"),
    ],
)
def test_heading_text(source: str, expected: str):
    assert heading_text(source) == expected


def test_places_follow_the_levels(build):
    document = build(
        [
            ("paragraph", "before"),
            (1, "# T"),
            ("paragraph", "in T"),
            (3, "### Deep"),
            ("paragraph", "in Deep"),
            (2, "## A"),
            (4, "#### X"),
            ("paragraph", "in X"),
            (1, "# U"),
            ("paragraph", "in U"),
        ]
    )
    places = find_places(document.text, document.blocks)
    assert [place.section for place in places] == [
        (),
        ("T",),
        ("T",),
        ("T", "Deep"),
        ("T", "Deep"),
        ("T", "A"),
        ("T", "A", "X"),
        ("T", "A", "X"),
        ("U",),
        ("U",),
    ]
    assert [place.above for place in places][3:8] == [("T",), ("T", "Deep"), ("T",), ("T", "A"), ("T", "A", "X")]


def leads(tokenizer: ChunkTokenizer, path: tuple[str, ...], name: str | None = None, **options: object) -> str:
    chosen = ChunkOptions(**options)  # type: ignore[arg-type]
    found = find_leads([path], name, options=chosen, count_tokens=tokenizer.count)[path]
    assert [found.tokens] == tokenizer.count([found.text])
    assert found.tokens <= chosen.max_tokens // 4
    return found.text


def test_the_title_leads_once(tokenizer: ChunkTokenizer):
    assert leads(tokenizer, ("A", "B"), "Note", title=True) == "Note > A > B"
    assert leads(tokenizer, ("note", "B"), " Note ", title=True) == "note > B"
    assert leads(tokenizer, (), "Note", title=True) == "Note"
    assert leads(tokenizer, ("A",), "  ", title=True) == "A"
    assert leads(tokenizer, ("A",), "Note", title=False) == "A"
    assert leads(tokenizer, ("A",), "Note", title=True, heading_path=False) == "Note"
    assert leads(tokenizer, ("A",), "Note", title=False, heading_path=False) == ""


def test_a_long_path_keeps_its_nearest_heading(tokenizer: ChunkTokenizer):
    path = tuple(f"heading number {number} of many" for number in range(30))
    lead = leads(tokenizer, path)
    assert lead.endswith("heading number 29 of many")
    assert not lead.startswith("heading number 0")


def test_a_long_heading_keeps_its_first_words(tokenizer: ChunkTokenizer):
    assert leads(tokenizer, ("one two " * 20,), max_tokens=32, target_tokens=32).startswith("one two one")
    assert leads(tokenizer, ("字" * 100,)) == ""
