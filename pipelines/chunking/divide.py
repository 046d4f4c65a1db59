"""Cutting a block that is over the budget: by its own structure first, by characters in the end."""

from dataclasses import dataclass
from functools import partial

from pipelines.chunking.chunk import CountTokens
from pipelines.chunking.ranks import Rank
from pipelines.chunking.sentences import (
    Cutter,
    characters,
    clauses,
    items,
    lines,
    nested_items,
    outer_stanzas,
    sentences,
    stanzas,
    words,
)
from pipelines.parsing.document import BlockKind

_Cut = tuple[Rank, Cutter]

_PROSE: tuple[_Cut, ...] = (
    (Rank.SENTENCE, sentences),
    (Rank.WRAPPED_LINE, lines),
    (Rank.CLAUSE, clauses),
    (Rank.WORD, words),
)
_CUTS: dict[BlockKind, tuple[_Cut, ...]] = {
    "list": ((Rank.ITEM, items), (Rank.NESTED_ITEM, nested_items), (Rank.LINE, stanzas), *_PROSE),
    "code": ((Rank.ITEM, outer_stanzas), (Rank.LINE, lines), (Rank.WORD, words)),
    "table": ((Rank.LINE, lines), (Rank.CLAUSE, clauses), (Rank.WORD, words)),
    "math": ((Rank.LINE, lines), (Rank.WORD, words)),
    "html": ((Rank.LINE, lines), *_PROSE),
    "quote": ((Rank.LINE, lines), *_PROSE),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of the text, the rank of the cut before it, and its tokens."""

    start: int
    end: int
    rank: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Room:
    """What one piece may hold."""

    tokens: int
    characters: int

    def fits(self, piece: Piece) -> bool:
        """Whether a piece is small enough."""
        return piece.tokens <= self.tokens and piece.end - piece.start <= self.characters


def divide(text: str, whole: Piece, kind: BlockKind, *, room: Room, count_tokens: CountTokens) -> list[Piece]:
    """Cut a piece into pieces that fit, each by the coarsest kind of cut that does it.

    The first piece keeps the rank of the whole. Pieces that fit are not cut further, so a list whose items fit is
    cut between items only.
    """
    pieces = [whole]
    for rank, cutter in _CUTS.get(kind, _PROSE):
        pieces = _cut_oversize(text, pieces, cutter, rank, room=room, count_tokens=count_tokens)
    size = room.characters
    while size and not all(map(room.fits, pieces)):
        cutter = partial(characters, size=size)
        pieces = _cut_oversize(text, pieces, cutter, Rank.CHARACTER, room=room, count_tokens=count_tokens)
        size //= 2
    return pieces


def _cut_oversize(
    text: str, pieces: list[Piece], cutter: Cutter, rank: Rank, *, room: Room, count_tokens: CountTokens
) -> list[Piece]:
    if all(map(room.fits, pieces)):
        return pieces
    cuts = [[] if room.fits(piece) else cutter(text, piece.start, piece.end) for piece in pieces]
    costs = iter(count_tokens([text[start:end] for spans in cuts if len(spans) > 1 for start, end in spans]))
    found: list[Piece] = []
    for piece, spans in zip(pieces, cuts, strict=True):
        if len(spans) < 2:
            found.append(piece)
        for number, (start, end) in enumerate(spans if len(spans) > 1 else ()):
            found.append(Piece(start, end, rank if number else piece.rank, next(costs)))
    return found
