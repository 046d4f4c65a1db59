"""knowledge: chunks and vectors -> the rows that search reads, one transaction a document."""

import dagster as dg

from pipelines.assets.embeddings import embeddings
from pipelines.assets.scope import ScopeConfig
from pipelines.assets.stage import GROUP, OWNERS, stage
from pipelines.generations.writing import publish_live
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.store import Store
from pipelines.storage.generations import live_generations


@dg.asset(
    deps=[embeddings],
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"postgres"},
    code_version="1",
    description="Rows of every live generation's pgvector table; readers see a document's old rows or its new ones.",
    group_name=GROUP,
    owners=OWNERS,
)
def knowledge(context: dg.AssetExecutionContext, config: ScopeConfig, store: dg.ResourceParam[Store]) -> None:
    with stage(context, store, "knowledge", figures=("documents", "added", "removed")) as work:
        with store.database.connect() as connection:
            live = live_generations(connection)
        publish_live(store.database, work, live=live, scope=config.scope)
