"""Arithmetic on vectors that every provider shares: normalising, averaging windows, refusing what is not a vector."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipelines.embedding.protocol import Embeddings, ModelSpec
from pipelines.errors import InvalidVectors

Vectors = NDArray[np.float32]
Flags = NDArray[np.bool_]

BLANK = "blank text: there is nothing to embed"


def normalized(vectors: Vectors) -> Vectors:
    """Rows at unit length; a zero row stays zero and a NaN stays, so that validation sees them."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms != 0)
    return unit


def mean_by_owner(vectors: Vectors, *, owners: Sequence[int], weights: Sequence[int], count: int) -> Vectors:
    """Mean of the rows of each owner, weighted, shape (count, dimensions). An owner without rows gets zeros.

    Rows of one window are copied, not multiplied and divided: that would change their last bits.
    """
    owner = np.asarray(owners, dtype=np.int64)
    weight = np.asarray(weights, dtype=np.float32)
    windows = np.bincount(owner, minlength=count)
    means = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    single = windows[owner] == 1
    means[owner[single]] = vectors[single]
    several = ~single
    if several.any():
        np.add.at(means, owner[several], vectors[several] * weight[several, None])
        totals = np.bincount(owner, weights=weight, minlength=count).astype(np.float32)
        rows = windows > 1
        means[rows] /= totals[rows, None]
    return means


def validated(embeddings: Embeddings, spec: ModelSpec, *, texts: int) -> Embeddings:
    """Return the embeddings where every vector may be stored, else raise InvalidVectors naming the model.

    Checked: one row a text, the spec's dimensions, finite, not zero. Refused rows are not looked at.
    """
    expected = (texts, spec.dimensions)
    if embeddings.vectors.shape != expected:
        raise InvalidVectors(
            f"{spec.name} gave vectors of shape {embeddings.vectors.shape} where {expected} were expected: "
            f"{texts} texts, {spec.dimensions} numbers each"
        )
    wanted = np.ones(texts, dtype=bool)
    wanted[[index for index, _ in embeddings.refused]] = False
    finite: Flags = np.all(np.isfinite(embeddings.vectors), axis=1)
    if not finite[wanted].all():
        raise InvalidVectors(f"{spec.name} gave {int((~finite & wanted).sum())} of {texts} vectors that are not finite")
    zero: Flags = np.all(embeddings.vectors == 0, axis=1)
    if zero[wanted].any():
        raise InvalidVectors(f"{spec.name} gave {int((zero & wanted).sum())} of {texts} vectors that are zero")
    return embeddings


def empty_embeddings(spec: ModelSpec) -> Embeddings:
    """The embeddings of no text."""
    return Embeddings(np.zeros((0, spec.dimensions), dtype=np.float32), np.zeros(0, dtype=np.int64))


def is_blank(text: str) -> bool:
    """No letter, digit or sign: white space, control and zero-width characters only."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def cut_texts(texts: Sequence[str], *, tokens: int) -> set[int]:
    """Indices of texts whose end the provider cannot have read: it reports fewer tokens than the texts have words.

    Every tokenizer gives at least one token a word. Where the sum falls short, the window is at most the largest w with
    sum(min(words, w)) <= tokens, and texts with more than w words were cut. `tokens` of 0 means that nothing was said.
    """
    words = [len(text.split()) for text in texts]
    if tokens <= 0 or tokens >= sum(words):
        return set()
    window = 0
    while sum(min(count, window + 1) for count in words) <= tokens:
        window += 1
    return {index for index, count in enumerate(words) if count > window}
