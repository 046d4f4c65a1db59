"""raw_files: the vault's files as rows, with their hashes and dates."""

import dagster as dg

from pipelines.assets.stage import GROUP, OWNERS, stage
from pipelines.intake.apply import take_in
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.store import Store


class RawFilesConfig(dg.Config):
    """`confirm_deletes` lets a run delete although most of the vault is gone; `full` reads every file again."""

    confirm_deletes: bool = False
    full: bool = False


@dg.asset(
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"file"},
    code_version="1",
    description="Files of the vault, compared with what is known of them: added, changed, moved, deleted, left out.",
    group_name=GROUP,
    owners=OWNERS,
)
def raw_files(context: dg.AssetExecutionContext, config: RawFilesConfig, store: dg.ResourceParam[Store]) -> None:
    with stage(context, store, "raw_files", figures=("seen", "added", "changed", "moved", "deleted")) as work:
        warnings = take_in(store, work.folders, work, full=config.full, confirm_deletes=config.confirm_deletes)
    for warning in warnings:
        context.log.warning(warning)
