"""Tokens of a note -> pieces: one for each block, as lines of readable text with their place in the file.

Line k of a piece is line `start + k` of the file wherever Markdown allows it, so that any part of a block can be cited
by its lines. Structure that helps a reader stays (`#`, list marks, `|`, fences, `>`); emphasis, addresses, comments and
block ids go.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from pipelines.parsing.document import BlockKind, Link
from pipelines.parsing.html_text import html_words
from pipelines.parsing.markdown_inline import InlineReader


@dataclass(slots=True)
class Piece:
    """Lines of text, their kind, and the file's lines from `start` to before `end`, counted from 0.

    `gap` is the number of line ends before the piece where the file's lines do not tell (text from another note).
    """

    kind: BlockKind
    lines: list[str]
    start: int
    end: int
    level: int = 0
    gap: int | None = None


Expand = Callable[[Link], list[Piece] | None]
"""Gives the pieces of an embedded note; None: it stays a link."""


@dataclass(slots=True)
class BlockReader:
    """Walks the tokens once. `first_line` is the file's line, from 0, at which the tokens' own lines begin."""

    tokens: list[Token]
    inline: InlineReader
    expand: Expand | None = None
    first_line: int = 0
    keep_comments: bool = False
    at: int = 0
    title: str | None = None
    warnings: list[str] = field(default_factory=list)

    def read(self) -> list[Piece]:
        """All blocks of the note that have words."""
        self.inline.comment_goes_on = self._comment_goes_on
        pieces: list[Piece] = []
        while self.at < len(self.tokens):
            pieces.extend(self._next())
        return pieces

    def _next(self) -> list[Piece]:
        """Read one block, and step behind it. A list gives one piece an item."""
        token = self.tokens[self.at]
        read = _READERS.get(token.type)
        if read is None:
            self.at += 1
            return []
        pieces = read(self, token)
        return [piece for piece in pieces if any(piece.lines)]

    def _lines(self, token: Token) -> tuple[int, int]:
        start, end = token.map or (0, 0)
        return start + self.first_line, end + self.first_line

    def _children(self, closing: str) -> list[Piece]:
        """Blocks up to the token that closes the container at which the reader stands; steps behind that token."""
        level = self.tokens[self.at].level
        self.at += 1
        pieces: list[Piece] = []
        while not (self.tokens[self.at].type == closing and self.tokens[self.at].level == level):
            pieces.extend(self._next())
        self.at += 1
        return pieces

    def _content(self) -> str:
        """Words of the content between an opening and a closing token; steps behind them."""
        words = self.inline.words(self.tokens[self.at + 1].content)
        self.at += 3
        return words

    def _paragraph(self, token: Token) -> list[Piece]:
        start, end = self._lines(token)
        content = self.tokens[self.at + 1].content
        if (
            self.expand is not None
            and content.startswith("![[")
            and content.endswith("]]")
            and content.count("[[") == 1
        ):
            children = self._embedded(content)
            if children is not None:
                self.at += 3
                return [replace(child, start=start, end=end) for child in children]
        lines = self._content().split("\n")
        return [Piece("paragraph", _trimmed(lines), start + _leading(lines), end)]

    def _embedded(self, content: str) -> list[Piece] | None:
        """Pieces of the note that a paragraph embeds and does nothing else."""
        from pipelines.parsing.obsidian import read_wikilink

        link, _ = read_wikilink(content[3:-2], embed=True)
        return self.expand(link) if self.expand is not None and link.target and not self.inline.open_comment else None

    def _heading(self, token: Token) -> list[Piece]:
        start, end = self._lines(token)
        level = int(token.tag[1])
        words = " ".join(self._content().split())
        if words and level == 1 and self.title is None:
            self.title = words
        return [Piece("heading", [f"{'#' * level} {words}"] if words else [], start, end, level)]

    def _fence(self, token: Token) -> list[Piece]:
        self.at += 1
        if self.inline.open_comment or not (token.content.strip() or token.info.strip()):
            return []
        start, end = self._lines(token)
        lines = token.content.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return [Piece("code", [token.markup + token.info.strip(), *lines, token.markup], start, end)]

    def _code(self, token: Token) -> list[Piece]:
        self.at += 1
        if self.inline.open_comment:
            return []
        start, end = self._lines(token)
        lines = [f"    {line}" if line.strip() else "" for line in token.content.rstrip("\n").split("\n")]
        return [Piece("code", lines, start, end)]

    def _math(self, token: Token) -> list[Piece]:
        self.at += 1
        if self.inline.open_comment:
            return []
        start, end = self._lines(token)
        return [Piece("math", f"$${token.content}$$".split("\n"), start, end)]

    def _html(self, token: Token) -> list[Piece]:
        self.at += 1
        start, end = self._lines(token)
        html = token.content
        if self.inline.open_comment:
            _, mark, html = html.partition(self.inline.open_comment)
            if not mark:
                return []
            self.inline.open_comment = ""
        lines = [line.strip() for line in html_words(self._without_comments(html, start)).split("\n")]
        return [
            Piece("html", lines[first:last], start + first, start + last if last < len(lines) else end)
            for first, last in _runs(lines)
        ]

    def _without_comments(self, html: str, start: int) -> str:
        """Take comments out of HTML; one that does not end goes on into the blocks that follow, as in a browser."""
        if self.keep_comments:
            return html.replace("<!--", "").replace("-->", "")
        while (opening := html.find("<!--")) >= 0:
            closing = html.find("-->", opening + 4)
            if closing < 0:
                self.inline.open_comment = "-->"
                if not self._comment_goes_on("-->"):
                    self.warnings.append(
                        f"line {start + html.count(chr(10), 0, opening) + 1}: an HTML comment is never closed"
                    )
                return html[:opening]
            html = html[:opening] + "\n" * html.count("\n", opening, closing) + html[closing + 3 :]
        return html

    def _comment_goes_on(self, mark: str) -> bool:
        """Does the mark come again in a later block that is not code?"""
        return any(
            token.type in ("inline", "html_block") and mark in token.content for token in self.tokens[self.at + 2 :]
        )

    def _quote(self, token: Token) -> list[Piece]:
        start, _ = self._lines(token)
        children = self._children("blockquote_close")
        if not children:
            return []
        lines = joined(children, start)
        if lines[0].startswith("[!"):  # a callout; its fold mark is no word
            lines[0] = lines[0].replace("]-", "]", 1).replace("]+", "]", 1)
        skipped = _leading(lines)
        lines = [f"> {line}" if line else ">" for line in _trimmed(lines)]
        return [Piece("quote", lines, start + skipped, max(child.end for child in children))]

    def _list(self, token: Token) -> list[Piece]:
        closing = token.type.replace("open", "close")
        level = token.level
        self.at += 1
        items: list[Piece] = []
        while not (self.tokens[self.at].type == closing and self.tokens[self.at].level == level):
            items.extend(self._item(self.tokens[self.at]))
        self.at += 1
        return items

    def _item(self, token: Token) -> list[Piece]:
        start, _ = self._lines(token)
        children = self._children("list_item_close")
        if not children:
            return []
        mark = f"{token.info}{token.markup} "
        lines = joined(children, start)
        skipped = _leading(lines)
        lines = _trimmed(lines)
        indent = " " * len(mark)
        lines = [(mark + lines[0]).rstrip(), *(f"{indent}{line}" if line else "" for line in lines[1:])]
        return [Piece("list", lines, start + skipped, max(child.end for child in children))]

    def _footnote(self, token: Token) -> list[Piece]:
        start, _ = self._lines(token)
        children = self._children("footnote_reference_close")
        if not children:
            return []
        lines = joined(children, start)
        label = f"[^{token.meta['label']}]: "
        lines = _trimmed(lines)
        lines = [label + lines[0], *(f"    {line}" if line else "" for line in lines[1:])]
        return [Piece("paragraph", lines, start, max(child.end for child in children))]

    def _table(self, token: Token) -> list[Piece]:
        start, end = self._lines(token)
        level = token.level
        lines: list[str] = []
        cells: list[str] = []
        while not (token.type == "table_close" and token.level == level):
            if token.type == "inline":
                cells.append(self.inline.words(token.content).replace("\n", " ").replace("|", "\\|").strip())
            elif token.type == "tr_close":
                lines.append(f"| {' | '.join(cells)} |")
                if len(lines) == 1:
                    lines.append(f"|{' --- |' * len(cells)}")
                cells = []
            self.at += 1
            token = self.tokens[self.at]
        self.at += 1
        return [Piece("table", lines if any(line.strip("| -") for line in lines) else [], start, end)]


def joined(pieces: list[Piece], start: int) -> list[str]:
    """Lines of a container's blocks, each on its own line of the file as far as possible; `start` is the first."""
    lines: list[str] = []
    for piece in pieces:
        missing = piece.start - start - len(lines) if piece.gap is None else (piece.gap - 1 if lines else 0)
        if missing > 0:
            lines.extend([""] * missing)
        lines.extend(piece.lines)
    return lines


def _runs(lines: list[str]) -> list[tuple[int, int]]:
    """First and last (not included) of each run of lines that are not empty: tags alone on a line leave empty ones."""
    filled = [False, *map(bool, lines), False]
    edges = [number for number in range(len(lines) + 1) if filled[number] != filled[number + 1]]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _leading(lines: list[str]) -> int:
    return next((number for number, line in enumerate(lines) if line), 0)


def _trimmed(lines: list[str]) -> list[str]:
    """Lines without the empty ones at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while first < last and not lines[last - 1].strip():
        last -= 1
    return lines[first:last]


_READERS: dict[str, Callable[[BlockReader, Token], list[Piece]]] = {
    "paragraph_open": BlockReader._paragraph,
    "heading_open": BlockReader._heading,
    "fence": BlockReader._fence,
    "code_block": BlockReader._code,
    "math_block": BlockReader._math,
    "html_block": BlockReader._html,
    "blockquote_open": BlockReader._quote,
    "bullet_list_open": BlockReader._list,
    "ordered_list_open": BlockReader._list,
    "footnote_reference_open": BlockReader._footnote,
    "table_open": BlockReader._table,
}
