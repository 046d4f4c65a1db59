"""What the tests of parsing share."""

import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse

PLAIN = ParseOptions(secrets="off", detect_languages=())


def note(source: str, options: ParseOptions = PLAIN) -> ParsedDocument:
    """Parse a note, without masking unless asked for."""
    return parse(source.encode(), media_type="markdown", options=options)


def block_texts(document: ParsedDocument) -> list[tuple[str, str]]:
    """Kind and text of each block."""
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def check_blocks(document: ParsedDocument, file_lines: int) -> None:
    """The contract of `Block`: in order, without overlap, white space between, lines within the file."""
    at, line = 0, 1
    for block in document.blocks:
        assert block.start < block.end
        assert not document.text[at : block.start].strip()
        assert document.text[block.start : block.end].strip()
        assert line <= block.line_start <= block.line_end <= max(1, file_lines)
        assert bool(block.level) == (block.kind == "heading")
        at, line = block.end, block.line_start
    assert not document.text[at:].strip()


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style")
        if tag in ("br", "p", "li", "td", "th"):
            self.parts.append(" ")
        if not self.hidden and (alt := dict(attrs).get("alt")):
            self.parts.append(alt)

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style") and self.hidden > 0
        if tag in ("p", "li", "td", "th") or tag.startswith("h"):
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


_REFERENCE = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def seen_words(source: str) -> list[str]:
    """Words that a browser shows of Markdown that markdown-it renders."""
    seen = _Seen()
    seen.feed(re.sub(r"<!--.*?-->", "", _REFERENCE.render(source), flags=re.DOTALL))
    seen.close()
    return re.findall(r"\w+", "".join(seen.parts))
