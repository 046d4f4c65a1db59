"""embeddings: chunk texts -> vectors, once a text and model."""

import dagster as dg

from pipelines.assets.chunks import chunks
from pipelines.assets.scope import ScopeConfig
from pipelines.assets.stage import GROUP, OWNERS, stage
from pipelines.generations.lifecycle import ensure_wanted
from pipelines.generations.writing import embed_live
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store


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
    with stage(context, store, "embeddings", figures=figures) as work:
        embed_live(
            store.database,
            store.settings,
            work,
            live=ensure_wanted(store.database, embedder.wanted(store.settings)),
            scope=config.scope,
            embedder_of=lambda target: embedder.of(target.generation, store.settings, patient=target.must),
            budget=store.budget,
            run=context.run.run_id,
            seconds=config.seconds,
        )
