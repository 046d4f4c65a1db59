"""The lines that make a piece of a table or of a code fence readable by itself."""

import re
from dataclasses import dataclass

from pipelines.parsing.document import Block

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n]*")
_DELIMITER_ROW = re.compile(r"[ \t>]*[|:\-][|:\- \t]*")
_DASHES = re.compile(r"-+")


@dataclass(frozen=True, slots=True)
class Frame:
    """What is repeated around the pieces of one block.

    `opening` goes in front of every piece that begins after `head_end`, the end of the lines it repeats; `closing`
    goes behind every piece that ends before `tail_start`, where the block's own last line closes it.
    """

    opening: str = ""
    closing: str = ""
    head_end: int = 0
    tail_start: int = 0


def frame(text: str, block: Block) -> Frame:
    """The frame of a table or fenced block; an empty one for anything else."""
    if block.kind == "table":
        return _table(text, block)
    if block.kind == "code":
        return _fence(text, block)
    return _no_frame(block)


def _table(text: str, block: Block) -> Frame:
    header_end = text.find("\n", block.start, block.end)
    if header_end >= 0:
        delimiter_end = text.find("\n", header_end + 1, block.end)
        delimiter = text[header_end + 1 : delimiter_end]
        if delimiter_end >= 0 and "-" in delimiter and _DELIMITER_ROW.fullmatch(delimiter):
            # Every dash is a token to WordPiece: three say as much as eighty.
            opening = f"{text[block.start : header_end]}\n{_DASHES.sub('---', delimiter)}"
            return Frame(opening=opening, head_end=delimiter_end, tail_start=block.end)
    return _no_frame(block)


def _fence(text: str, block: Block) -> Frame:
    first = _FENCE.match(text, block.start, block.end)
    if first is None or first.end() == block.end:
        return _no_frame(block)
    last_line = text.rfind("\n", block.start, block.end) + 1
    closed = text[last_line : block.end].strip().startswith(first[1]) and last_line > first.end()
    return Frame(
        opening=first[0], closing=first[1], head_end=first.end(), tail_start=last_line if closed else block.end
    )


def _no_frame(block: Block) -> Frame:
    return Frame(head_end=block.start, tail_start=block.end)
