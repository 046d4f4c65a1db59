"""Pages as the worker sent them -> one ParsedDocument: running text, headings, page map, and what was not read."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.parsing.document import Block, Page, PageOrigin, ParsedDocument
from pipelines.parsing.pdf_layout import Paragraph, is_bullet
from pipelines.parsing.pdf_metadata import believable_title, declared_date, properties_of
from pipelines.parsing.pdf_text import join_lines, words_of

HEADING_RATIO = {"layer": 1.15, "ocr": 1.5}  # font size over the body's; OCR knows sizes only to about a fifth
LEVEL_STEP = {"layer": 1.06, "ocr": 1.25}  # sizes closer than this are the same level
HEADING_CHARACTERS = 200
HEADING_LINES = 3
PARAGRAPH_BREAK = "\n\n"
_CONTENTS = re.compile(r"(?:table of )?contents$|[ií]ndice$|contenidos?$|sumario$|sommaire$|inhalt", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageText:
    """One page on its way. `cause` says what is special about it (no text layer, mostly images), `why` what kept it
    from being read; `pending` that OCR was wanted for it and has not been done."""

    number: int
    origin: PageOrigin
    paragraphs: tuple[Paragraph, ...] = ()
    cause: str | None = None
    why: str | None = None
    pending: bool = False

    @property
    def reason(self) -> str | None:
        """Cause and obstacle in one sentence, for the page map."""
        return "; ".join(part for part in (self.cause, self.why) if part) or None

    @property
    def measure(self) -> str:
        """How its font sizes were found: sizes of the two kinds are not compared."""
        return "ocr" if self.origin == "ocr" else "layer"


def assemble(pages: Sequence[PageText], about: Mapping[str, Any]) -> ParsedDocument:
    """The document of these pages, in their order. `about` is what `pdf_pages.describe` found."""
    words = words_of([line for page in pages for paragraph in page.paragraphs for line in paragraph.lines])
    levels = _Levels(pages, about.get("outline") or [])
    text: list[str] = []
    blocks: list[Block] = []
    page_map: list[Page] = []
    offset, line_number = 0, 1
    for page in pages:
        start = offset
        for paragraph in page.paragraphs:
            content = running_text(paragraph, words)
            if offset:
                text.append(PARAGRAPH_BREAK)
                offset += len(PARAGRAPH_BREAK)
                line_number += 2
            if paragraph is page.paragraphs[0]:
                start = offset
            level = levels.of(page, paragraph, content)
            if level:
                content = content.replace("\n", " ")
            last_line = line_number + content.count("\n")
            kind = "heading" if level else "paragraph"
            blocks.append(Block(kind, offset, offset + len(content), line_number, last_line, level))  # type: ignore[arg-type]
            text.append(content)
            offset += len(content)
            line_number = last_line
        page_map.append(Page(page.number, start, offset, page.origin, page.reason))
    whole = "".join(text)
    metadata = about.get("metadata") or {}
    return ParsedDocument(
        text=whole,
        blocks=tuple(blocks),
        title=believable_title(metadata.get("title")) or _first_heading(whole, blocks, page_map),
        properties=properties_of(metadata, pages=int(about.get("pages") or len(pages))),
        declared_date=declared_date(metadata),
        pages=tuple(page_map),
        warnings=tuple(warnings_of(pages, about)),
    )


def running_text(paragraph: Paragraph, words: frozenset[str]) -> str:
    """The paragraph with its lines joined where the page only wrapped them, and broken where a break is meant."""
    result = ""
    wraps = False
    for line, wrapped in zip(paragraph.lines, paragraph.wraps, strict=True):
        broken_word = re.search(r"[^\W\d_][-\u2010]$", result) is not None and line[:1].islower()
        if wraps or broken_word:
            result = join_lines(result, line, words)
        elif result:
            result = f"{result}\n{line}"
        else:
            result = line
        wraps = wrapped
    return result


class _Levels:
    """Heading levels: from the document's outline where it names the paragraph, else from font sizes."""

    def __init__(self, pages: Sequence[PageText], outline: Iterable[Sequence[Any]]) -> None:
        self.outline = {(int(page), _key(title)): min(6, max(1, int(level))) for level, title, page in outline}
        self.body = {measure: _body_size(pages, measure) for measure in HEADING_RATIO}
        self.sizes = {measure: self._heading_sizes(pages, measure) for measure in HEADING_RATIO}

    def of(self, page: PageText, paragraph: Paragraph, content: str) -> int:
        """1 to 6, or 0 for what is no heading."""
        named = self.outline.get((page.number, _key(content)))
        if named is not None:
            return named
        if not self._is_large(page.measure, paragraph):
            return 0
        sizes = self.sizes[page.measure]
        return next(
            (rank for rank, size in enumerate(sizes, 1) if paragraph.size >= size / LEVEL_STEP[page.measure]),
            len(sizes),
        )

    def _is_large(self, measure: str, paragraph: Paragraph) -> bool:
        characters = sum(len(line) for line in paragraph.lines)
        return (
            self.body[measure] > 0
            and paragraph.size >= HEADING_RATIO[measure] * self.body[measure]
            and characters <= HEADING_CHARACTERS
            and len(paragraph.lines) <= HEADING_LINES
            and any(character.isalpha() for line in paragraph.lines for character in line)
            and not is_bullet(paragraph.lines[0])
        )

    def _heading_sizes(self, pages: Sequence[PageText], measure: str) -> list[float]:
        """The size of each level, largest first, at most six."""
        found = sorted(
            {
                paragraph.size
                for page in pages
                if page.measure == measure
                for paragraph in page.paragraphs
                if self._is_large(measure, paragraph)
            },
            reverse=True,
        )
        levels: list[float] = []
        for size in found:
            if not levels or size < levels[-1] / LEVEL_STEP[measure]:
                levels.append(size)
        return levels[:6]


def _body_size(pages: Sequence[PageText], measure: str) -> float:
    """The font size that most characters have; 0.0 without text."""
    characters: Counter[float] = Counter()
    for page in pages:
        if page.measure == measure:
            for paragraph in page.paragraphs:
                characters[round(paragraph.size * 2) / 2] += sum(len(line) for line in paragraph.lines)
    return max(characters, key=lambda size: (characters[size], -size), default=0.0)


def _key(title: str) -> str:
    """A heading without case, numbering and spacing, to find it again on its page."""
    return re.sub(r"^[\d.]+\s*|\W+", "", title.casefold())


def _first_heading(text: str, blocks: Sequence[Block], pages: Sequence[Page]) -> str | None:
    """The first level-1 heading of the first page that has text, where a document's title stands.

    Not from OCR, whose sizes are too rough to tell a title from a logo; and a table of contents names no document.
    """
    page = next((page for page in pages if page.end > page.start), None)
    if page is None or page.origin == "ocr":
        return None
    top = (text[one.start : one.end] for one in blocks if one.level == 1 and one.end <= page.end)
    return next((heading for heading in top if not _CONTENTS.match(heading)), None)


def warnings_of(pages: Sequence[PageText], about: Mapping[str, Any]) -> list[str]:
    """What a person should know about the file and about pages that were not fully read."""
    warnings: list[str] = []
    if about.get("repaired"):
        warnings.append("the file is damaged and was repaired while reading: parts of it may be missing")
    groups: dict[tuple[str, str], list[int]] = {}
    for page in pages:
        if page.origin in ("skipped", "failed"):
            verb = "not read" if page.origin == "skipped" else "unreadable"
            groups.setdefault((verb, page.why or page.cause or "unknown"), []).append(page.number)
        elif page.pending:
            groups.setdefault(("read without their images", page.why or "unknown"), []).append(page.number)
    for (verb, why), numbers in groups.items():
        warnings.append(f"pages {verb} ({len(numbers)} of {len(pages)}): {ranges(numbers)}: {why}")
    if pages and not any(page.paragraphs for page in pages):
        warnings.append("no text was found on any page")
    if about.get("attachments"):
        warnings.append(f"files attached inside it were not read: {about['attachments']}")
    if about.get("xfa"):
        warnings.append("it is an XFA form: its fields may show only in Adobe Reader")
    return warnings


def ranges(numbers: Iterable[int]) -> str:
    """Page numbers in short: `1, 3-5`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
