"""Jobs: the one that indexes, in one process, and the one that fetches the clone."""

import dagster as dg

from pipelines.resources.store import Store

INDEX = dg.define_asset_job(
    "index",
    selection=dg.AssetSelection.assets("raw_files", "parsed_text", "chunks", "embeddings", "knowledge", "live_index"),
    config={"ops": {name: {"config": {"scope": "CHANGES"}} for name in ("embeddings", "knowledge")}},
    description="Bring the index in line with the vault, for the folders of the run.",
    executor_def=dg.in_process_executor,
)
"""In one process: the chain is linear, so a process a step (about 2.4 s each) would buy nothing.

`CHANGES`: the first build of another model is left to the job `reindex`, so that no edit waits for it.
"""


@dg.op(description="Bring the clone of VAULT_GIT_URL to what the remote has.")
def fetch_clone(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    update = store.update_clone()
    if update is not None:
        context.log.info(f"the clone is at {update.after}: {len(update.changed)} files changed")


@dg.job(
    name="fetch",
    executor_def=dg.in_process_executor,
    description="A first clone, or a push that takes longer to fetch than a sensor has time for.",
)
def FETCH() -> None:  # noqa: N802  # a job is a constant, as the others are
    fetch_clone()
