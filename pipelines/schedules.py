"""Schedules: what a vault needs every night, besides the sensors."""

import dagster as dg

from pipelines.jobs import INDEX
from pipelines.partitions import FOLDERS, range_tags
from pipelines.upkeep_job import UPKEEP


@dg.schedule(
    name="nightly_full_hash",
    job=INDEX,
    cron_schedule="15 2 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Reads every file again: finds one that was replaced by another of the same size and date.",
)
def nightly_full_hash(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    keys = list(context.instance.get_dynamic_partitions(str(FOLDERS.name)))
    if not keys:
        return dg.SkipReason("no folder is known yet")
    tags = {**range_tags(keys[0], keys[-1]), "vaultline/started_by": "nightly_full_hash"}
    scope = {name: {"config": {"scope": "CHANGES"}} for name in ("embeddings", "knowledge")}
    return dg.RunRequest(
        partition_key=tags.pop("dagster/partition", None),
        tags=tags,
        run_config={"ops": {"raw_files": {"config": {"full": True}}, **scope}},
    )


nightly_upkeep = dg.ScheduleDefinition(
    name="nightly_upkeep",
    job=UPKEEP,
    cron_schedule="15 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Retention, vacuum, vector indexes, evaluation.",
)

SCHEDULES = [nightly_full_hash, nightly_upkeep]
