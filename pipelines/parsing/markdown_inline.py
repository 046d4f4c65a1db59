"""One paragraph's, heading's or cell's content -> the words that a reader sees, and the links and tags in it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from markdown_it.token import Token

from pipelines.parsing.document import Link
from pipelines.parsing.html_text import inline_html_words
from pipelines.parsing.markdown import NEEDS_INLINE, Reader, inline_tokens

_INDENTED_LINE = re.compile(r" *\n[ \t]*")
_TRAILING = re.compile(r"[ \t]+\n")
LONGEST = 20_000
_BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+\s*$")
_TAG = re.compile(r"(?:^|(?<=[\s(\[,;]))#(?=[\w/-]*[^\W\d])([\w/-]+)")
_HIGHLIGHT = re.compile(r"==(?=\S)([^=\n]+?)(?<=\S)==")
_SCHEME = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)")
_IMAGE_SIZE = re.compile(r"\|\d+(?:x\d+)?$")
_MEDIA = (
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".webp",
    ".bmp",
    ".avif",
    ".mp3",
    ".wav",
    ".m4a",
    ".ogg",
    ".mp4",
    ".webm",
    ".mov",
)


@dataclass(slots=True)
class InlineReader:
    """Reads contents one after the other, and remembers links, tags and comments that are still open."""

    md: Reader
    env: dict[str, Any]
    expand: Callable[[Link], str | None] | None = None
    comment_goes_on: Callable[[str], bool] = lambda _mark: False
    """Does the mark that ends a comment come later in the note?"""
    keep_comments: bool = False
    links: list[Link] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    open_comment: str = ""
    """The mark that ends the comment that is open, or nothing."""
    unread: str = ""
    """What follows of a content that is read in parts."""

    def words(self, content: str) -> str:
        """The visible text of a content, one line of text for each of its lines."""
        if len(content) <= LONGEST:
            return self._words(content)
        # markdown-it's time grows with the square of a paragraph full of brackets: longer ones are read in parts
        words = []
        for start, end, mark in _parts(content):
            self.unread = content[end:]
            words += [self._words(content[start:end]), mark]
        self.unread = ""
        return "".join(words)

    def _words(self, content: str) -> str:
        if self.open_comment:
            _, mark, content = content.partition(self.open_comment)
            if not mark:
                return ""
            self.open_comment = ""
            content = content.lstrip()
        if not NEEDS_INLINE.search(content):
            text = _INDENTED_LINE.sub("\n", content) if "\n" in content else content
            ends_in_text = True
            if "#" in text:
                self.tags.extend(_TAG.findall(text))
        else:
            children = inline_tokens(self.md, content, self.env)
            ends_in_text = bool(children) and children[-1].type == "text"
            text = self.join(children).strip(" \t")
            if " \n" in text:  # before a comment or tag that is gone
                text = _TRAILING.sub("\n", text)
        if "==" in text and "`" not in text:
            text = _HIGHLIGHT.sub(r"\1", text)
        if ends_in_text and "^" in text:
            text = _BLOCK_ID.sub("", text)
        return text

    def join(self, children: Sequence[Token]) -> str:
        """The visible text of tokens."""
        parts: list[str] = []
        for token in children:
            kind = token.type
            if kind == "text":
                parts.append(token.content)
                if "#" in token.content:
                    self.tags.extend(_TAG.findall(token.content))
            elif kind in ("softbreak", "hardbreak"):
                parts.append("\n")
            elif kind == "code_inline":
                space = " " if token.content.startswith("`") or token.content.endswith("`") else ""
                parts.append(f"{token.markup}{space}{token.content}{space}{token.markup}")
            elif kind == "link_open":
                if token.markup != "autolink":
                    self._remember(str(token.attrs.get("href", "")), "markdown")
            elif kind in _BETWEEN:
                parts.append(_BETWEEN[kind](self, token))
        return "".join(parts)

    def _remember(self, address: str, kind: Any) -> None:
        if not address or address.startswith("#") or _SCHEME.match(address):
            return
        target, _, anchor = unquote(address).partition("#")
        target = target.partition("?")[0].strip()
        if target and not target.lower().endswith(_MEDIA):
            self.links.append(Link(target, f"#{anchor}" if anchor else None, kind))

    def _image(self, token: Token) -> str:
        self._remember(str(token.attrs.get("src", "")), "embed")
        return _IMAGE_SIZE.sub("", self.join(token.children or []))

    def _wikilink(self, token: Token) -> str:
        link: Link = token.meta["link"]
        if link.target:
            self.links.append(link)
        return (
            self.join(inline_tokens(self.md, token.content, {}))
            if NEEDS_INLINE.search(token.content)
            else token.content
        )

    def _embed(self, token: Token) -> str:
        link: Link = token.meta["link"]
        if self.expand is not None and link.target and (text := self.expand(link)) is not None:
            return f"\n{text}\n"
        if link.target and not link.target.lower().endswith(_MEDIA):
            self.links.append(link)
        return token.content

    def _html(self, token: Token) -> str:
        if self.keep_comments and token.content.startswith("<!--"):
            return token.content[4:-3]
        return inline_html_words(token.content)

    def _comment(self, token: Token) -> str:
        """A comment that its paragraph does not end: it goes on to where it ends, and is no comment if nowhere."""
        if token.markup in self.unread or self.comment_goes_on(token.markup):
            self.open_comment = token.markup
            return ""
        return token.markup + self.join(inline_tokens(self.md, token.content, self.env))

    def _literal(self, token: Token) -> str:
        return token.content

    def _struck(self, _token: Token) -> str:
        return "~~"

    def _math(self, token: Token) -> str:
        return f"{token.markup}{token.content}{token.markup}"


def _parts(content: str) -> Iterator[tuple[int, int, str]]:
    """Where parts of at most `LONGEST` characters begin and end, and what follows: a line end, a space or nothing."""
    start = 0
    while len(content) - start > LONGEST:
        limit = start + LONGEST
        cut = max(content.rfind("\n", start + 1, limit), content.rfind(" ", start + LONGEST // 2, limit))
        end = cut if cut > 0 else limit
        yield start, end, content[end] if cut > 0 else ""
        start = end + (cut > 0)
    yield start, len(content), ""


_BETWEEN: dict[str, Callable[[InlineReader, Token], str]] = {
    "image": InlineReader._image,
    "wikilink": InlineReader._wikilink,
    "embed": InlineReader._embed,
    "html_inline": InlineReader._html,
    "open_comment": InlineReader._comment,
    "text_special": InlineReader._literal,
    "s_open": InlineReader._struck,
    "s_close": InlineReader._struck,
    "math_inline": InlineReader._math,
    "math_inline_double": InlineReader._math,
}
