"""embeddings: chunk texts -> vectors, once a text and model."""

import time
from collections.abc import Sequence

import dagster as dg

from pipelines.assets.chunks import chunks
from pipelines.assets.stage import DEFAULTS, stage
from pipelines.embedding.batches import embed_in_batches
from pipelines.embedding.protocol import Embedder, Embeddings, Role
from pipelines.errors import VaultlineError
from pipelines.figures import Work
from pipelines.generations.lifecycle import ensure_wanted
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.storage import vectors
from pipelines.storage.database import Connection

_LOOK_AHEAD = 20_000
_CLAIM = 1_024
"""Texts claimed at a time. Every claim is a lock, and the server has room for some 6,000 of them."""

_SOMEBODY_ELSE = 0.2  # seconds until we look again at texts that another worker has claimed


@dg.asset(
    deps=[chunks],
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"python"},
    code_version="1",
    description="A vector for every distinct chunk text under every live generation's model.",
    **DEFAULTS,
)
def embeddings(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], embedder: EmbedderResource) -> None:
    figures = ("embedded", "reused", "truncated", "windowed", "refused", "tokens")
    failures: list[VaultlineError] = []
    with (
        stage(context, store, "embeddings", figures=figures) as work,
        store.database.connect(autocommit=True) as connection,
    ):
        wanted = embedder.wanted(store.settings)
        for generation in ensure_wanted(store.database, wanted):
            try:
                model = wanted
                if generation.fingerprint != wanted.spec.fingerprint:
                    model = embedder.of(generation, store.settings)
                embed_pending(connection, model, work)
            except VaultlineError as error:
                # One generation's provider must not keep the others from being written.
                context.log.error(f"generation {generation.id} ({generation.model}): {error}")
                failures.append(error)
    if failures:
        raise failures[0]


def embed_pending(connection: Connection, embedder: Embedder, work: Work) -> None:
    """Embed every text of the work's folders that has no vector under the model.

    Several workers divide the texts; vectors are stored as they come, so that a killed run loses one batch.
    """
    fingerprint = embedder.spec.fingerprint
    while pending := vectors.pending_texts(
        connection, folders=work.folders, fingerprint=fingerprint, limit=_LOOK_AHEAD
    ):
        idle = True
        for start in range(0, len(pending), _CLAIM):
            with vectors.claim(connection, fingerprint=fingerprint, hashes=pending[start : start + _CLAIM]) as texts:
                idle = idle and not texts
                if texts:
                    _embed(connection, embedder, texts, work)
        if idle:
            time.sleep(_SOMEBODY_ELSE)


def _embed(connection: Connection, embedder: Embedder, texts: Sequence[vectors.TextToEmbed], work: Work) -> None:
    def keep(indices: list[int], batch: Embeddings) -> None:
        vectors.put_embeddings(
            connection,
            fingerprint=embedder.spec.fingerprint,
            texts=[texts[index] for index in indices],
            embeddings=batch,
        )
        work.count(
            None,
            embedded=len(indices) - len(batch.refused),
            truncated=len(batch.truncated),
            windowed=len(batch.windowed),
            refused=len(batch.refused),
            tokens=int(batch.tokens.sum()),
        )

    embed_in_batches(embedder, [text.text for text in texts], role=Role.DOCUMENT, on_batch=keep)
