"""What parsing produces: the text of one file, its structure, and where each part stands in the file."""

from dataclasses import dataclass, field
from typing import Literal

MediaType = Literal["markdown", "text", "pdf", "canvas"]
BlockKind = Literal["heading", "paragraph", "list", "code", "table", "quote", "html", "math"]
PageOrigin = Literal["text", "ocr", "mixed", "blank", "failed", "skipped"]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Block:
    """One structural unit of the text.

    `start` and `end` are character offsets into `ParsedDocument.text`; `line_start` and `line_end` are 1-based,
    inclusive line numbers of the *file*, which is what citations show. `level` is a heading's 1 to 6, otherwise 0.
    Blocks are ordered, do not overlap, and everything between two of them is white space.
    """

    kind: BlockKind
    start: int
    end: int
    line_start: int
    line_end: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a paged document: its characters in the text (empty for a blank page) and how they were read.

    `number` is 1-based. `reason` says in plain words why a page is failed or skipped.
    """

    number: int
    start: int
    end: int
    origin: PageOrigin
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written: `target` is the note's name or path, `anchor` a heading (`#...`) or block (`^...`)."""

    target: str
    anchor: str | None = None
    kind: Literal["wikilink", "embed", "markdown"] = "wikilink"


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The readable text of one file, independent of the file's path, with its structure.

    Excluded documents (`excluded_reason` set: the note says that it stays out) carry no text and no properties.
    Everything that must not be stored (comments, secrets, anonymised names) is already gone from every field.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    title: str | None = None
    properties: dict[str, Json] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    declared_locale: str | None = None
    detected_locale: str | None = None
    declared_date: str | None = None
    """ISO 8601 date or date-time from the frontmatter, for `modified_at` where git knows nothing."""
    pages: tuple[Page, ...] = ()
    encoding: str | None = None
    warnings: tuple[str, ...] = ()
    excluded_reason: str | None = None
