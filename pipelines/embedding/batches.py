"""Embedding with every finished batch handed over at once, so that what was computed or paid for can be stored."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from pipelines.embedding.protocol import Embedder, Embeddings, Role

OnBatch = Callable[[list[int], Embeddings], None]

BATCH = 128
"""Texts of a batch for embedders that do not batch by themselves."""


@runtime_checkable
class BatchEmbedder(Protocol):
    """An embedder that knows its own batches: a provider's requests, or a few seconds of a local model's work."""

    def embed_batches(self, texts: Sequence[str], *, role: Role) -> Iterator[tuple[list[int], Embeddings]]:
        """Yield (indices of texts, their embeddings); every index once, in any order."""
        ...


def embed_in_batches(embedder: Embedder, texts: Sequence[str], *, role: Role, on_batch: OnBatch) -> None:
    """Embed `texts`, calling `on_batch(indices, embeddings)` after every batch, from the calling thread.

    Every index comes exactly once, in any order; indices inside `embeddings` count from 0 within the batch. When it
    raises, the batches handed over so far are valid. An error of `on_batch` ends it. Raises as `Embedder.embed`.
    """
    if isinstance(embedder, BatchEmbedder):
        for indices, embeddings in embedder.embed_batches(texts, role=role):
            on_batch(indices, embeddings)
        return
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        on_batch(list(range(start, start + len(batch))), embedder.embed(batch, role=role))
