"""The parts of texts that go to a hosted provider, and putting together what comes back."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.embedding.protocol import Embeddings, ModelSpec
from pipelines.embedding.vectors import BLANK, Vectors, mean_by_owner, normalized, validated
from pipelines.errors import EmbeddingError


@dataclass(frozen=True, slots=True)
class Piece:
    """A text or a window of one, with its prefix, as it is sent. `owner` is the text's index; `tokens` an estimate."""

    owner: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a piece: its vector, or the `reason` why it was refused.

    `cut` says that the provider did not read its end, `windowed` that it was sent in parts after all. `failure` is the
    error that ended the run before this piece was done: others of its request may be done and paid for.
    """

    vector: Vectors | None = None
    tokens: int = 0
    reason: str = ""
    cut: bool = False
    windowed: bool = False
    failure: EmbeddingError | None = None


def assemble(pieces: Sequence[Piece], outcomes: Sequence[Outcome], spec: ModelSpec) -> tuple[list[int], Embeddings]:
    """(owners in order, their embeddings): windows averaged by tokens; a text with one refused window is refused.

    Texts with a piece that failed are left out. Raises InvalidVectors.
    """
    failed = {piece.owner for piece, outcome in zip(pieces, outcomes, strict=True) if outcome.failure is not None}
    done = [(piece, outcome) for piece, outcome in zip(pieces, outcomes, strict=True) if piece.owner not in failed]
    pieces, outcomes = [piece for piece, _ in done], [outcome for _, outcome in done]
    owners = list(dict.fromkeys(piece.owner for piece in pieces))
    row_of = {owner: row for row, owner in enumerate(owners)}
    rows = [row_of[piece.owner] for piece in pieces]
    refused = {row: outcome.reason for row, outcome in zip(rows, outcomes, strict=True) if outcome.vector is None}
    kept = [(row, outcome) for row, outcome in zip(rows, outcomes, strict=True) if row not in refused]
    kept_rows = [row for row, _ in kept]
    means = mean_by_owner(
        stack([outcome for _, outcome in kept], dimensions=spec.dimensions),
        owners=kept_rows,
        weights=[max(outcome.tokens, 1) for _, outcome in kept],
        count=len(owners),
    )
    tokens = np.zeros(len(owners), dtype=np.int64)
    np.add.at(tokens, kept_rows, [outcome.tokens for _, outcome in kept])
    windows = Counter(kept_rows)
    embeddings = Embeddings(
        vectors=normalized(means),
        tokens=tokens,
        windowed=tuple(sorted({row for row, outcome in kept if outcome.windowed or windows[row] > 1})),
        truncated=tuple(sorted({row for row, outcome in kept if outcome.cut})),
        refused=tuple(sorted(refused.items())),
    )
    return owners, validated(embeddings, spec, texts=len(owners))


def joined(parts: Sequence[Outcome]) -> Outcome:
    """The outcome of a piece from its parts: their mean weighted by tokens, or the first refusal or failure."""
    refusal = next((part for part in parts if part.vector is None), None)
    if refusal is not None:
        return refusal
    weights = [max(part.tokens, 1) for part in parts]
    rows = stack(parts, dimensions=0)
    mean = normalized(mean_by_owner(rows, owners=[0] * len(parts), weights=weights, count=1))[0]
    return Outcome(mean, tokens=sum(part.tokens for part in parts), cut=any(p.cut for p in parts), windowed=True)


def stack(outcomes: Sequence[Outcome], *, dimensions: int) -> Vectors:
    """The vectors of outcomes that have one, shape (outcomes, dimensions)."""
    vectors = [outcome.vector for outcome in outcomes if outcome.vector is not None]
    return np.stack(vectors) if vectors else np.zeros((0, dimensions), dtype=np.float32)


def shares(pieces: Sequence[Piece], billed: int) -> list[int]:
    """The billed tokens divided among the pieces by their estimates; the estimates where nothing was billed."""
    if billed <= 0:
        return [piece.tokens for piece in pieces]
    guesses = np.cumsum([piece.tokens for piece in pieces], dtype=np.float64)
    bounds = np.round(guesses / guesses[-1] * billed).astype(np.int64)
    return [int(share) for share in np.diff(bounds, prepend=0)]


def nothing(count: int, spec: ModelSpec) -> Embeddings:
    """The embeddings of blank texts, which are never sent."""
    return Embeddings(
        np.zeros((count, spec.dimensions), dtype=np.float32),
        np.zeros(count, dtype=np.int64),
        refused=tuple((index, BLANK) for index in range(count)),
    )
