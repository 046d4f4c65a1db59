"""A document as the smallest parts that are never cut, each with its cost and how readily it is parted from the one
before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.chunking.chunk import CountTokens
from pipelines.chunking.divide import Piece, Room, divide
from pipelines.chunking.frames import Frame, frame
from pipelines.chunking.headings import NOTHING, Lead, Place, find_leads, find_places
from pipelines.chunking.options import ChunkOptions
from pipelines.chunking.ranks import Rank
from pipelines.parsing.document import Block, ParsedDocument


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of the text that stays whole.

    A chunk that begins with this unit carries `lead` and `frame.opening` (a table's header, a fence's first line) in
    front; one that ends with it carries `frame.closing` behind. Lines are those of the file.
    """

    start: int
    end: int
    rank: int
    tokens: int
    line_start: int
    line_end: int
    section: tuple[str, ...]
    lead: Lead
    heading_level: int = 0
    prose: bool = False
    opening: Lead = NOTHING
    closing: Lead = NOTHING


def units(document: ParsedDocument, *, options: ChunkOptions, count_tokens: CountTokens) -> list[Unit]:
    """The document's units, in order, covering everything that is not white space.

    Each fits the budget together with its lead, its frame and the headings right before it. `count_tokens` must be
    additive over white space, as WordPiece is.
    """
    text = document.text
    blocks = complete_blocks(text, document.blocks)
    places = find_places(text, blocks)
    leads = find_leads([place.above for place in places], document.title, options=options, count_tokens=count_tokens)
    costs = count_tokens([text[block.start : block.end] for block in blocks])
    found: list[Unit] = []
    previous: Block | None = None
    head_tokens = head_start = 0
    for block, place, tokens in zip(blocks, places, costs, strict=True):
        lead = leads[place.above]
        if previous is None or previous.kind != "heading":
            head_tokens, head_start = lead.tokens, block.start
        if head_tokens > options.max_tokens // 2 or block.start - head_start > options.max_characters // 4:
            # Headings without end: what follows may be cut off from them.
            head_tokens, head_start = lead.tokens, block.start
        room = Room(
            options.max_tokens - max(lead.tokens, head_tokens),
            options.max_characters * 3 // 4 - (block.start - head_start),
        )
        whole = Piece(block.start, block.end, _rank(text, block, previous), tokens)
        found += _block_units(text, block, whole, place, lead, room=room, count_tokens=count_tokens)
        head_tokens += tokens
        previous = block
    return found


def complete_blocks(text: str, blocks: Sequence[Block]) -> list[Block]:
    """The blocks that are not blank, and one for any text that no block covers: whatever the parser does, no
    character is lost."""
    found: list[Block] = []
    end, line = 0, 1
    for block in blocks:
        found += _gap(text, end, block.start, line, block.line_start)
        if block.end > block.start and not text[block.start : block.end].isspace():
            found.append(block)
        end, line = max(end, block.end), block.line_end
    found += _gap(text, end, len(text), line, None)
    return found


def _gap(text: str, start: int, end: int, line: int, line_end: int | None) -> Iterator[Block]:
    gap = text[start:end]
    if gap and not gap.isspace():
        left = len(gap) - len(gap.lstrip())
        right = start + len(gap.rstrip())
        first = line + gap.count("\n", 0, left)
        last = first + text.count("\n", start + left, right)
        if line_end is not None:
            first, last = min(first, line_end), min(last, line_end)
        yield Block("paragraph", start + left, right, first, last)


def _rank(text: str, block: Block, previous: Block | None) -> int:
    if previous is None:
        return Rank.BLOCK
    if previous.kind == "heading":
        return Rank.GLUED
    if block.kind == "heading":
        return block.level
    if block.kind == previous.kind == "list":
        return Rank.ITEM  # the parser gives every outermost item as a block
    return Rank.ATTACHED if text[previous.end - 1] == ":" else Rank.BLOCK


def _block_units(
    text: str, block: Block, whole: Piece, place: Place, lead: Lead, *, room: Room, count_tokens: CountTokens
) -> Iterator[Unit]:
    pieces, around, opening, closing = [whole], Frame(), NOTHING, NOTHING
    if not room.fits(whole):
        around = frame(text, block)
        opening, closing = _affordable(around, room, count_tokens)
        smaller = Room(
            room.tokens - opening.tokens - closing.tokens, room.characters - len(opening.text) - len(closing.text) - 2
        )
        pieces = divide(text, whole, block.kind, room=smaller, count_tokens=count_tokens)
    line, position = block.line_start, block.start
    for number, piece in enumerate(pieces):
        line += text.count("\n", position, piece.start)
        position = piece.start
        last = number == len(pieces) - 1
        yield Unit(
            start=piece.start,
            end=piece.end,
            rank=_framed_rank(piece, pieces[number - 1] if number else None, around),
            tokens=piece.tokens,
            line_start=min(line, block.line_end),
            line_end=block.line_end if last else min(line + text.count("\n", position, piece.end), block.line_end),
            section=place.section,
            lead=lead,
            heading_level=block.level if block.kind == "heading" else 0,
            prose=block.kind in ("paragraph", "list", "quote"),
            opening=NOTHING if piece.start < around.head_end else opening,
            closing=NOTHING if last else closing,
        )


def _affordable(around: Frame, room: Room, count_tokens: CountTokens) -> tuple[Lead, Lead]:
    """The frame's lines with their costs, or nothing where they would take more than a third of the room."""
    if not around.opening:
        return NOTHING, NOTHING
    opening, closing = count_tokens([around.opening, around.closing])
    if opening + closing > room.tokens // 3 or len(around.opening) + len(around.closing) > room.characters // 3:
        return NOTHING, NOTHING
    return Lead(around.opening, opening), Lead(around.closing, closing)


def _framed_rank(piece: Piece, previous: Piece | None, around: Frame) -> int:
    """A table's header keeps its first row, a fence's marks keep the code they stand at."""
    if previous is not None and (previous.end <= around.head_end or piece.start >= around.tail_start):
        return Rank.GLUED
    return piece.rank
