"""Obsidian's `.canvas` files (JSON Canvas 1.0): the cards' words, in reading order."""

import json
import re
from typing import Any

from pipelines.errors import DocumentError
from pipelines.parsing.document import Link, ParsedDocument
from pipelines.parsing.encoding import clean_text
from pipelines.parsing.markdown_blocks import Piece
from pipelines.parsing.note_body import assemble, read_body
from pipelines.parsing.options import ParseOptions


def parse_canvas(text: str, *, options: ParseOptions) -> ParsedDocument:
    """Text of cards, labels of groups and arrows; files on the canvas are links. Raises DocumentError if damaged.

    A block's line is the line of the file on which its card stands (Obsidian writes one card a line).
    """
    if not text.strip():
        return ParsedDocument(text="")  # a canvas on which nothing was ever put
    try:
        canvas = json.loads(text)
    except (ValueError, RecursionError):
        raise DocumentError(
            "this canvas is damaged: it is not valid JSON; open it in Obsidian and save it again"
        ) from None
    if not isinstance(canvas, dict):
        raise DocumentError("this is not an Obsidian canvas: its JSON holds no nodes")
    pieces: list[Piece] = []
    links: list[Link] = []
    tags: list[str] = []
    lines = _lines_of_cards(text)
    for node in sorted(_dicts(canvas.get("nodes")), key=lambda node: (_number(node.get("y")), _number(node.get("x")))):
        line = lines.get(str(node.get("id")), 0)
        file = node.get("file")
        if isinstance(file, str) and file:
            anchor = node.get("subpath")
            links.append(Link(clean_text(file), anchor if isinstance(anchor, str) and anchor else None, "embed"))
        words = next((node[key] for key in ("text", "label") if isinstance(node.get(key), str)), "")
        _append(pieces, links, tags, words, line, options)
    for edge in _dicts(canvas.get("edges")):
        label = edge.get("label")
        if isinstance(label, str):
            _append(pieces, links, tags, label, lines.get(str(edge.get("id")), 0), options)
    readable, blocks = assemble(pieces)
    return ParsedDocument(
        text=readable, blocks=blocks, links=tuple(dict.fromkeys(links)), tags=tuple(dict.fromkeys(tags))
    )


def _append(
    pieces: list[Piece], links: list[Link], tags: list[str], words: str, line: int, options: ParseOptions
) -> None:
    body = read_body(clean_text(words), first_line=0, options=options)
    previous = None
    for piece in body.pieces:
        gap = 2 if previous is None or piece.start > previous.end else 1
        pieces.append(Piece(piece.kind, piece.lines, line, line + 1, piece.level, gap))
        previous = piece
    links.extend(body.links)
    tags.extend(body.tags)


def _lines_of_cards(text: str) -> dict[str, int]:
    """Line, from 0, on which each id stands."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n")):
        for found in re.finditer(r'"id"\s*:\s*"([^"\\]+)"', line):
            lines.setdefault(found.group(1), number)
    return lines


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and value == value else 0.0
