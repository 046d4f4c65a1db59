"""The parser that is built once: its short cuts change nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pipelines.parsing.markdown import block_tokens, inline_tokens, reader

PLAIN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shapes(md: MarkdownIt, source: str) -> list[tuple[str, str, object, str]]:
    tokens: list[object] = []
    return [
        (token.type, token.tag, token.map, token.content)
        for token in md.block.parse(source, md, {}, tokens) or []  # type: ignore[arg-type]
    ]


def test_built_once_for_each_way_of_reading() -> None:
    assert reader() is reader()
    assert reader() is not reader(True)


def test_addresses_stay_as_written_and_none_is_refused() -> None:
    (opening, *_) = inline_tokens(reader(), "[a](<data:image/png;base64,AAAA ñ>)", {})
    assert opening.attrs["href"] == "data:image/png;base64,AAAA ñ"


_PARTS = [
    "# a",
    "a",
    "===",
    "---",
    "- a",
    "1. a",
    "10) a",
    "> a",
    "```",
    "~~~",
    "    a",
    "| a | b |",
    "|---|---|",
    ":-:",
    "",
    "<b>",
    "[a]: b",
    "***",
]


@given(st.lists(st.sampled_from(_PARTS), max_size=10).map("\n".join))
def test_rules_that_are_not_asked_would_not_have_matched(source: str) -> None:
    assert [
        (token.type, token.tag, token.map, token.content) for token in block_tokens(reader(), source, {})
    ] == shapes(PLAIN, source)


@pytest.mark.shared
def test_the_commonmark_examples_have_the_same_blocks(shared_data: Path) -> None:
    examples = json.loads((shared_data / "markdown_edge" / "commonmark" / "commonmark.json").read_text())
    for example in examples:
        source = example["markdown"]
        if not any(ours in source for ours in ("$$", "%%", "[^")):
            assert shapes(reader(), source) == shapes(PLAIN, source), source
