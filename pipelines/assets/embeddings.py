"""embeddings: chunk texts -> vectors, once a text and model."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from pipelines.assets.chunks import chunks
from pipelines.assets.scope import ScopeConfig
from pipelines.assets.stage import GROUP, OWNERS, stage
from pipelines.embedding.batches import embed_in_batches
from pipelines.embedding.prices import price_per_million
from pipelines.embedding.protocol import Embedder, Embeddings, Role
from pipelines.errors import VaultlineError
from pipelines.figures import Work
from pipelines.generations.budget import Budget
from pipelines.generations.identity import check_model
from pipelines.generations.lifecycle import ensure_wanted
from pipelines.generations.scope import Scope, Target, targets
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.storage import generation_states as states
from pipelines.storage import vectors
from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation

_LOOK_AHEAD = 20_000
_CLAIM = 1_024
"""Texts claimed at a time. Every claim is a lock, and the server has room for some 6,000 of them."""

_CLAIM_OF_SLICE = 128
"""The same where a run may only last so long: it looks at the clock between two claims."""

_SOMEBODY_ELSE = 0.2  # seconds until we look again at texts that another worker has claimed
_LEAVE_ALONE = 600.0  # seconds that edits do not wait again for a provider that just failed and does not serve search


@dg.asset(
    deps=[chunks],
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"python"},
    code_version="1",
    description="A vector for every distinct chunk text under every live generation's model.",
    group_name=GROUP,
    owners=OWNERS,
)
def embeddings(
    context: dg.AssetExecutionContext,
    config: ScopeConfig,
    store: dg.ResourceParam[Store],
    embedder: EmbedderResource,
) -> None:
    figures = ("embedded", "reused", "truncated", "windowed", "refused", "tokens")
    failures: list[VaultlineError] = []
    deadline = time.monotonic() + config.seconds if config.seconds else None
    with (
        stage(context, store, "embeddings", figures=figures) as work,
        store.database.connect(autocommit=True) as connection,
    ):
        wanted = embedder.wanted(store.settings)
        live = ensure_wanted(store.database, wanted)
        failed_lately = states.recent_problems(connection, seconds=_LEAVE_ALONE)
        for target in targets(live, config.as_scope):
            generation = target.generation
            if config.as_scope is Scope.CHANGES and not target.must and generation.id in failed_lately:
                continue
            try:
                model = embedder.of(generation, store.settings, patient=target.must)
                price = price_per_million(generation.model, store.settings)
                run = EmbeddingRun(connection, target, model, store.budget, price, context.run.run_id, deadline)
                embed_pending(run, work)
                states.put_problem(connection, generation.id, None)
            except VaultlineError as error:
                # One generation's provider must not keep the others from being written.
                context.log.error(f"generation {generation.id} ({generation.model}): {error}")
                states.put_problem(connection, generation.id, str(error))
                if target.must:
                    failures.append(error)
        for row in states.spending(connection, context.run.run_id):
            work.extra[f"generation {row['generation_id']} tokens"] = row["tokens"]
            work.extra[f"generation {row['generation_id']} cost_usd"] = round(row["cost_usd"], 6)
        work.extra["cost_usd"] = round(store.budget.cost, 6)
        if failures:
            raise failures[0]


@dataclass(frozen=True)
class EmbeddingRun:
    """One generation's share of a run.

    `price`: dollars per million tokens, None: not known. `deadline`: when to stop, on the monotonic clock.
    """

    connection: Connection
    target: Target
    embedder: Embedder
    budget: Budget
    price: float | None
    run: str
    deadline: float | None = None

    @property
    def generation(self) -> Generation:
        return self.target.generation


def embed_pending(run: EmbeddingRun, work: Work) -> None:
    """Embed every text of the work's folders that has no vector under the generation's model.

    Several workers divide the texts; vectors are stored as they come, so that a killed run loses one batch. Raises
    ModelChanged before the first text where the model is not what it was, BudgetExceeded where a cap is reached.
    """
    checked = False
    claim = _CLAIM if run.deadline is None else _CLAIM_OF_SLICE
    while pending := vectors.pending_texts(
        run.connection,
        folders=work.folders,
        fingerprint=run.generation.fingerprint,
        limit=_LOOK_AHEAD,
        since=run.target.since,
    ):
        if not checked:
            check_model(run.connection, run.generation, run.embedder)
            checked = True
        idle = True
        for start in range(0, len(pending), claim):
            if run.deadline is not None and time.monotonic() > run.deadline:
                return
            with vectors.claim(
                run.connection, fingerprint=run.generation.fingerprint, hashes=pending[start : start + claim]
            ) as texts:
                idle = idle and not texts
                if texts:
                    _embed(run, texts, work)
        if idle and not run.target.waits:
            return
        if idle:
            time.sleep(_SOMEBODY_ELSE)


def _embed(run: EmbeddingRun, texts: Sequence[vectors.TextToEmbed], work: Work) -> None:
    if not run.budget.capped:
        _embed_all(run, texts, work)
        return
    rest = list(texts)
    while rest:  # what came back is spent at its true number of tokens, so that more may fit than at first
        tokens = run.embedder.count_tokens([text.text for text in rest])
        fits = run.budget.affordable(tokens, model=run.generation.model, price=run.price)
        _embed_all(run, rest[:fits], work)
        rest = rest[fits:]


def _embed_all(run: EmbeddingRun, texts: Sequence[vectors.TextToEmbed], work: Work) -> None:
    def keep(indices: list[int], batch: Embeddings) -> None:
        tokens = int(batch.tokens.sum())
        with run.connection.transaction():
            vectors.put_embeddings(
                run.connection,
                fingerprint=run.generation.fingerprint,
                texts=[texts[index] for index in indices],
                embeddings=batch,
            )
            cost = run.budget.spend(tokens, price=run.price)
            states.spend(
                run.connection,
                run=run.run,
                generation=run.generation.id,
                texts=len(indices),
                tokens=tokens,
                cost_usd=cost,
            )
        work.count(
            None,
            embedded=len(indices) - len(batch.refused),
            truncated=len(batch.truncated),
            windowed=len(batch.windowed),
            refused=len(batch.refused),
            tokens=tokens,
        )

    embed_in_batches(run.embedder, [text.text for text in texts], role=Role.DOCUMENT, on_batch=keep)
