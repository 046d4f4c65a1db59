"""Plain text: paragraphs as they stand."""

import re

from pipelines.parsing.document import Block, ParsedDocument
from pipelines.parsing.frontmatter import split_frontmatter
from pipelines.parsing.properties import aliases_of, date_of, locale_of, tags_of, title_of

_PARAGRAPH = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")


def parse_text(text: str) -> ParsedDocument:
    """Paragraphs (lines without an empty line between them) as blocks. Metadata between dashes counts as in a note."""
    front = split_frontmatter(text)
    text = front.body.rstrip()
    blocks = []
    line, at = front.lines_before + 1, 0
    for found in _PARAGRAPH.finditer(text):
        start, end = found.span()
        line += text.count("\n", at, start)
        last = line + text.count("\n", start, end)
        blocks.append(Block("paragraph", start, end, line, last))
        line, at = last, end
    return ParsedDocument(
        text=text,
        blocks=tuple(blocks),
        title=title_of(front.properties),
        properties=front.properties,
        tags=tags_of(front.properties, ())[0],
        aliases=aliases_of(front.properties),
        declared_locale=locale_of(front.properties),
        declared_date=date_of(front.properties),
        warnings=front.warnings,
    )
