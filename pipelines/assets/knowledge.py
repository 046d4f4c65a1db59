"""knowledge: chunks and vectors -> the rows that search reads, one transaction a document."""

import dagster as dg

from pipelines.assets.embeddings import embeddings
from pipelines.assets.stage import BATCH, DEFAULTS, stage
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.store import Store
from pipelines.storage import generations
from pipelines.storage.database import Database, retry_conflicts
from pipelines.storage.generations import Generation


@dg.asset(
    deps=[embeddings],
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"postgres"},
    code_version="1",
    description="Rows of every live generation's pgvector table; readers see a document's old rows or its new ones.",
    **DEFAULTS,
)
def knowledge(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> None:
    figures = ("documents", "added", "removed")
    with stage(context, store, "knowledge", figures=figures) as work, store.database.connect(autocommit=True) as conn:
        for generation in generations.live_generations(conn):
            while ids := generations.pending_publications(conn, generation, folders=work.folders, limit=BATCH):
                documents, added, removed = publish(store.database, generation, ids)
                if documents == 0:
                    break  # others were faster, or the documents changed meanwhile and wait for their new chunks
                work.count(None, documents=documents, added=added, removed=removed)


def publish(database: Database, generation: Generation, ids: list[int]) -> tuple[int, int, int]:
    """One transaction; tried again when the server undid it because of another."""

    def work() -> tuple[int, int, int]:
        with database.connect() as connection:
            return generations.publish(connection, generation, ids)

    return retry_conflicts(work)
