"""The heading path of every block, and what of it is embedded in front of a chunk."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.chunking.chunk import CountTokens
from pipelines.chunking.options import ChunkOptions
from pipelines.parsing.document import Block

_HEADING_LENGTH = 200
"""Characters kept of one heading in a path: a heading of 2 MB must not be stored with each of its chunks."""
_MARKS = re.compile(r"^\s{0,3}#{1,6}(?:[ \t]+|$)|[ \t]+#+\s*$|\n[ \t]*(?:=+|-+)\s*$")
_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Lead:
    """Text that is put around a chunk, and its tokens."""

    text: str = ""
    tokens: int = 0


NOTHING = Lead()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block stands: the path it belongs to, and the part of the path that is above the block itself."""

    section: tuple[str, ...]
    above: tuple[str, ...]


def find_places(text: str, blocks: Sequence[Block]) -> list[Place]:
    """The place of each block, in order. A heading's own text is the last of its section and not above it."""
    found: list[Place] = []
    open_headings: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind != "heading":
            section = tuple(name for _, name in open_headings)
            found.append(Place(section, section))
            continue
        while open_headings and open_headings[-1][0] >= block.level:
            open_headings.pop()
        above = tuple(name for _, name in open_headings)
        name = heading_text(text[block.start : block.end])
        if name:
            open_headings.append((block.level, name))
        found.append(Place((*above, name) if name else above, above))
    return found


def heading_text(source: str) -> str:
    """A heading's words on one line, without its Markdown marks."""
    name = " ".join(_MARKS.sub("", source).split())
    return name if len(name) <= _HEADING_LENGTH else name[: _HEADING_LENGTH - 1].rstrip() + "…"


def find_leads(
    paths: Sequence[tuple[str, ...]], title: str | None, *, options: ChunkOptions, count_tokens: CountTokens
) -> dict[tuple[str, ...], Lead]:
    """What is embedded in front of a chunk, for each path: at most a quarter of the budget.

    The title leads unless the path already begins with it. A path that is too long loses its outermost headings
    first: the nearest says most. A single heading that is too long keeps its first words.
    """
    found: dict[tuple[str, ...], Lead] = {}
    for path in dict.fromkeys(paths):
        names = list(path) if options.heading_path else []
        if options.title and title and title.strip() and (not path or path[0].casefold() != title.strip().casefold()):
            names.insert(0, heading_text(title))
        found[path] = _shorten(names, options=options, count_tokens=count_tokens)
    return found


def _shorten(names: list[str], *, options: ChunkOptions, count_tokens: CountTokens) -> Lead:
    while names:
        lead = _SEPARATOR.join(names)
        [tokens] = count_tokens([lead])
        if tokens <= options.max_tokens // 4 and len(lead) <= options.max_characters // 4:
            return Lead(lead, tokens)
        words = names[0].split()
        names = names[1:] or [" ".join(words[: len(words) // 2])] if len(names) > 1 or len(words) > 1 else []
    return NOTHING
