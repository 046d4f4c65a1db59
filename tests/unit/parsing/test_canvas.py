"""Obsidian's canvases."""

import json

import pytest

from pipelines.errors import DocumentError
from pipelines.parsing.canvas import parse_canvas
from pipelines.parsing.document import Link
from pipelines.parsing.options import ParseOptions


def canvas(*nodes: dict[str, object], edges: tuple[dict[str, object], ...] = ()) -> str:
    """As Obsidian writes it: a card a line."""
    cards = ",\n".join("\t\t" + json.dumps(node) for node in nodes)
    return f'{{\n\t"nodes":[\n{cards}\n\t],\n\t"edges":{json.dumps(list(edges))}\n}}'


def test_cards_in_reading_order_with_the_lines_they_stand_on() -> None:
    text = canvas(
        {"id": "b", "type": "text", "text": "Below, see [[Runbook]] #ops", "x": 0, "y": 300},
        {"id": "a", "type": "text", "text": "# Above\n\nfirst **card**", "x": 10, "y": 0},
        {"id": "f", "type": "file", "file": "guides/Setup.md", "subpath": "#Install", "x": 0, "y": 900},
        {"id": "g", "type": "group", "label": "The group", "x": 0, "y": -50},
        edges=({"id": "e", "label": "leads to"},),
    )
    document = parse_canvas(text, options=ParseOptions())
    assert document.text.split("\n\n") == ["The group", "# Above", "first card", "Below, see Runbook #ops", "leads to"]
    assert [block.line_start for block in document.blocks] == [6, 4, 4, 3, 8]
    assert document.links == (Link("Runbook"), Link("guides/Setup.md", "#Install", "embed"))
    assert document.tags == ("ops",)


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"nodes": []}', '{"nodes": [1, null], "edges": "x"}'])
def test_nothing_on_it_is_an_empty_document(text: str) -> None:
    assert parse_canvas(text, options=ParseOptions()).text == ""


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', "[" * 100_000])
def test_a_damaged_canvas_is_refused_in_words(text: str) -> None:
    with pytest.raises(DocumentError, match="canvas"):
        parse_canvas(text, options=ParseOptions())


def test_surrogates_and_nul_of_json_escapes_do_not_come_through() -> None:
    document = parse_canvas('{"nodes": [{"id": "a", "text": "a\\u0000b \\ud800 c", "y": NaN}]}', options=ParseOptions())
    document.text.encode()
    assert document.text.split() == ["ab", "c"]
