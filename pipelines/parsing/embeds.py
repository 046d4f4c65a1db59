"""Put the text of embedded notes in place of `![[note]]`, `![[note#section]]` and `![[note#^block]]`.

Every note is put in place once on the way from the note to itself, so that notes which embed each other end; what an
embedded note keeps out (rules of publication, comments, names) stays out.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from pipelines.parsing.anonymize import anonymize_text, name_pattern, names_in
from pipelines.parsing.document import Link
from pipelines.parsing.frontmatter import split_frontmatter
from pipelines.parsing.markdown import block_tokens, reader
from pipelines.parsing.markdown_blocks import Piece
from pipelines.parsing.note_body import read_body
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.publication import exclusion_reason

MOST_EMBEDS = 200
DEEPEST = 10
_BLOCK_ID = r"(?:^|\s)\^{}\s*$"


@dataclass(slots=True)
class Embedder:
    """Expands the embeds of one note. `resolve` gives the source text of the note that a target names, or None."""

    resolve: Callable[[str], str | None]
    options: ParseOptions
    root: str
    way: list[str] = field(default_factory=list)
    """Source texts of the notes between the root and the one that is being read."""
    count: int = 0

    def expand(self, link: Link) -> list[Piece] | None:
        """Pieces of what a link embeds; None where it stays a link: unknown, going round, too deep, not published."""
        if self.count >= MOST_EMBEDS or len(self.way) >= DEEPEST:
            return None
        source = self.resolve(link.target)
        if source is None or source == self.root or source in self.way:
            return None
        front = split_frontmatter(source)
        if exclusion_reason(front.properties, self.options.publication):
            return None
        part = front.body if link.anchor is None else part_of(front.body, link.anchor)
        if part is None:
            return None
        self.count += 1
        self.way.append(source)
        try:
            pieces = read_body(part, first_line=0, options=self.options, expand=self.expand).pieces
        finally:
            self.way.pop()
        pattern = name_pattern(names_in(front.properties))
        return [_placed(piece, pieces[number - 1] if number else None, pattern) for number, piece in enumerate(pieces)]


def _placed(piece: Piece, previous: Piece | None, names: re.Pattern[str] | None) -> Piece:
    """A piece that keeps its distance to the one before, since its lines are another file's."""
    gap = piece.gap or (2 if previous is None or piece.start > previous.end else 1)
    lines = piece.lines if names is None else anonymize_text("\n".join(piece.lines), names).split("\n")
    return replace(piece, gap=gap, lines=lines)


def part_of(source: str, anchor: str) -> str | None:
    """Markdown source of the section (`#Heading`) or block (`^id`) of a note's body, or None where there is none."""
    tokens = block_tokens(reader(), source, {})
    found = _block(tokens, source, anchor[1:]) if anchor.startswith("^") else _section(tokens, anchor[1:])
    if found is None:
        return None
    lines = source.split("\n")
    first, last = found
    indent = min((len(line) - len(line.lstrip()) for line in lines[first:last] if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines[first : last if last >= 0 else None])


def _section(tokens: list[Token], name: str) -> tuple[int, int] | None:
    """First and last line of the first section with that heading."""
    wanted = _folded(name)
    headings = [
        (token, tokens[number + 1].content)
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    for place, (token, content) in enumerate(headings):
        if _folded(re.sub(r"\s\^[A-Za-z0-9-]+\s*$", "", content)) == wanted and token.map:
            following = (later for later, _ in headings[place + 1 :] if later.tag <= token.tag)
            end = next(following, None)
            return token.map[0], end.map[0] if end is not None and end.map else -1
    return None


def _block(tokens: list[Token], source: str, name: str) -> tuple[int, int] | None:
    """Lines of the block with that id: a paragraph or an item that ends in it, or the block above a line of its own."""
    mark = re.compile(_BLOCK_ID.format(re.escape(name)))
    containers: list[Token] = []
    previous: Token | None = None
    for number, token in enumerate(tokens):
        if token.type == "list_item_open":
            containers.append(token)
        elif token.type == "list_item_close":
            containers.pop()
        elif token.type == "inline" and mark.search(token.content):
            if token.content.strip() == f"^{name}":
                return (previous.map[0], previous.map[1]) if previous is not None and previous.map else None
            holder = (
                containers[-1]
                if containers and tokens[number - 1].level == containers[-1].level + 1
                else tokens[number - 1]
            )
            return (holder.map[0], holder.map[1]) if holder.map else None
        if token.level == 0 and token.map and token.type != "inline":
            following = tokens[number + 1] if number + 1 < len(tokens) else None
            if not (following is not None and following.type == "inline" and following.content.strip() == f"^{name}"):
                previous = token
    return None


def _folded(heading: str) -> str:
    """A heading as Obsidian compares it: without marks, accents' forms and case."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", heading).casefold()))
