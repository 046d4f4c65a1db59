"""knowledge: chunks and vectors -> the rows that search reads, one transaction a document."""

import dagster as dg

from pipelines.assets.embeddings import embeddings
from pipelines.assets.scope import ScopeConfig
from pipelines.assets.stage import BATCH, GROUP, OWNERS, stage
from pipelines.figures import Work
from pipelines.generations.scope import Target, publishing_order, targets
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.store import Store
from pipelines.storage import generation_states as states
from pipelines.storage import generations
from pipelines.storage.database import Connection, Database, retry_conflicts
from pipelines.storage.generations import Generation


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
    figures = ("documents", "added", "removed")
    with stage(context, store, "knowledge", figures=figures) as work, store.database.connect(autocommit=True) as conn:
        live = generations.live_generations(conn)
        for target in publishing_order(targets(live, config.as_scope)):
            _publish_pending(store.database, conn, target, work)
        for generation in live:
            _note_progress(conn, generation, work)


def _publish_pending(database: Database, connection: Connection, target: Target, work: Work) -> None:
    while ids := generations.pending_publications(
        connection, target.generation, folders=work.folders, limit=BATCH, since=target.since
    ):
        documents, added, removed = publish(database, target.generation, ids)
        if documents == 0:
            break  # others were faster, or the documents changed meanwhile and wait for their new chunks
        work.count(None, documents=documents, added=added, removed=removed)


def _note_progress(connection: Connection, generation: Generation, work: Work) -> None:
    """How far each folder is in each generation, as metadata of the folder's partition."""
    for row in states.folder_progress(connection, generation.id):
        if row["folder"] in work.folders:
            own = {f"generation {generation.id} documents": row["published"]}
            if row["published"] < row["documents"]:
                own[f"generation {generation.id} missing"] = row["documents"] - row["published"]
            work.note(row["folder"], **own)


def publish(database: Database, generation: Generation, ids: list[int]) -> tuple[int, int, int]:
    """One transaction; tried again when the server undid it because of another."""

    def work() -> tuple[int, int, int]:
        with database.connect() as connection:
            return generations.publish(connection, generation, ids)

    return retry_conflicts(work)
