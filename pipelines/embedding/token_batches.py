"""Which windows a local model reads together: bounded by tokens, sorted by length."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_TOKENS = 4096
"""Tokens of one batch, padding included. Measured best for two streams: docs/decisions/0006-embedding-runtime.md."""

BUCKET = 16
"""Lengths are padded up to a multiple of this, so that a runtime prepares its kernels for few shapes."""

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]


def plan_batches(lengths: Sequence[int], *, max_tokens: int = MAX_TOKENS, bucket: int = BUCKET) -> list[list[int]]:
    """Indices of the sequences of each batch, longest first, so that the last batches to finish are short ones.

    No batch is over `max_tokens` tokens with its padding, unless a single sequence is.
    """
    batches: list[list[int]] = []
    current: list[int] = []
    width = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if current and (len(current) + 1) * width > max_tokens:
            batches.append(current)
            current = []
        if not current:
            width = padded(lengths[index], bucket=bucket)
        current.append(index)
    if current:
        batches.append(current)
    return batches


def padded(length: int, *, bucket: int = BUCKET) -> int:
    """The length rounded up to a whole bucket."""
    return -(-length // bucket) * bucket


def pad_batch(sequences: Sequence[Sequence[int]], *, max_length: int, pad_id: int) -> Batch:
    """(ids, attention mask), both of shape (sequences, padded length), the length never over `max_length`."""
    width = min(max_length, padded(max(len(sequence) for sequence in sequences)))
    ids = np.full((len(sequences), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return ids, mask
