"""A note's body, after its metadata -> pieces, and pieces -> the text with its blocks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.parsing.document import Block, Link
from pipelines.parsing.markdown import block_tokens, reader
from pipelines.parsing.markdown_blocks import BlockReader, Expand, Piece, joined
from pipelines.parsing.markdown_inline import InlineReader
from pipelines.parsing.options import ParseOptions

_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Body:
    """Pieces in the order of the file, the links and tags in them, the first heading of level 1, and warnings."""

    pieces: list[Piece]
    links: list[Link]
    tags: list[str]
    title: str | None
    warnings: list[str]


def read_body(source: str, *, first_line: int, options: ParseOptions, expand: Expand | None = None) -> Body:
    """Parse Markdown. `first_line` is the number of the file's lines before `source`."""
    md = reader(options.keep_comments)
    warnings: list[str] = []
    env: dict[str, Any] = {}
    tokens = block_tokens(md, source, env)
    if "<<<<<<< " in source and (
        merged := _without_conflict_marks(source, [t.map for t in tokens if t.type == "fence" and t.map])
    ):
        source, line = merged
        warnings.append(
            f"line {line + first_line + 1}: the note holds the marks of an unfinished merge; both versions were read"
        )
        env = {}
        tokens = block_tokens(md, source, env)
    if unclosed := env.get("unclosed_comments"):
        warnings.append(
            f"line {unclosed[0] + first_line + 1}: a %% comment is never closed; the rest of the note is hidden"
        )

    def expand_inline(link: Link) -> str | None:
        pieces = expand(link) if expand else None
        return None if pieces is None else "\n".join(joined(pieces, 0))

    inline = InlineReader(md, env, expand=expand_inline if expand else None, keep_comments=options.keep_comments)
    blocks = BlockReader(tokens, inline, expand=expand, first_line=first_line, keep_comments=options.keep_comments)
    pieces = blocks.read()
    return Body(pieces, inline.links, inline.tags, blocks.title, [*warnings, *blocks.warnings])


def assemble(pieces: Sequence[Piece]) -> tuple[str, tuple[Block, ...]]:
    """Join pieces into a text; an empty line of the file between two of them is one in the text, and never two."""
    parts: list[str] = []
    blocks: list[Block] = []
    at = previous_end = 0
    for piece in pieces:
        if blocks:
            gap = min(2, max(1, piece.start - previous_end + 1)) if piece.gap is None else piece.gap
            parts.append("\n" * gap)
            at += gap
        words = "\n".join(piece.lines)
        parts.append(words)
        blocks.append(
            Block(piece.kind, at, at + len(words), piece.start + 1, max(piece.end, piece.start + 1), piece.level)
        )
        at += len(words)
        previous_end = piece.end
    return "".join(parts), tuple(blocks)


def _without_conflict_marks(source: str, code: Sequence[Sequence[int]]) -> tuple[str, int] | None:
    """The source with empty lines for the marks that a merge left, and the first mark's line; None where it left none.

    Left in, the middle mark would make a heading of the line above. Marks within code blocks are examples.
    """
    lines = source.split("\n")
    marks = [n for n, line in enumerate(lines) if _CONFLICT.fullmatch(line) and not any(a <= n < b for a, b in code)]
    kinds = "".join(lines[number][0] for number in marks)
    if "<=>" not in kinds:
        return None
    for number in marks:
        lines[number] = ""
    return "\n".join(lines), marks[0]
