"""Jobs: the one that indexes, in one process."""

import dagster as dg

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
