"""finish: starts the runs that a migration still needs, whatever ended before they did.

Level-triggered: it asks the tables what is due, and remembers nothing. A run that is queued or going on is waited for;
one that failed is tried again after a pause.
"""

import time

import dagster as dg

from pipelines.errors import VaultlineError
from pipelines.generation_jobs import PROMOTE, REINDEX
from pipelines.generations.lifecycle import due
from pipelines.partitions import range_tags, ranges, register
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.run_process import bury
from pipelines.storage import documents
from pipelines.storage import generation_states as states

_INTERVAL = 30
_PAUSE = 600.0
"""Seconds before a job that failed is started again."""

_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dg.sensor(
    name="finish",
    jobs=[REINDEX, PROMOTE],
    minimum_interval_seconds=_INTERVAL,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Builds, promotes and retires generations: what the tables say is due and no run is at.",
)
def finish(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store], embedder: EmbedderResource
) -> dg.SensorResult | dg.SkipReason:
    try:
        fingerprint = embedder.wanted(store.settings).spec.fingerprint
        with store.database.connect() as connection:
            step = due(connection, store.settings, fingerprint)
            if step.release:
                states.release_held(connection, fingerprint=fingerprint)
            folders = documents.folders(connection) if step.begin else sorted(step.build)
    except VaultlineError as error:
        return dg.SkipReason(str(error))
    if not (step.begin or step.build or step.promote is not None or step.retire):
        return dg.SkipReason("every generation is where it should be")
    job = "reindex" if folders else "promote"
    if not folders and step.begin:
        return dg.SkipReason("the vault holds no documents yet")
    if (reason := _waits(context.instance, job)) is not None:
        return dg.SkipReason(reason)
    return dg.SensorResult(run_requests=_requests(context.instance, job, folders))


def _requests(instance: dg.DagsterInstance, job: str, folders: list[str]) -> list[dg.RunRequest]:
    if job == "promote":
        return [dg.RunRequest(job_name=job)]
    register(instance, folders)
    # The first range only: the others are still due at the next tick, and two builds would fight for one machine.
    first, last = ranges(instance, folders)[0]
    tags = range_tags(first, last)
    return [dg.RunRequest(job_name=job, partition_key=tags.pop("dagster/partition", None), tags=tags)]


def _waits(instance: dg.DagsterInstance, job: str) -> str | None:
    unfinished = instance.get_run_records(dg.RunsFilter(job_name=job, statuses=_UNFINISHED))
    if bury(instance, [record.dagster_run for record in unfinished]):
        return f"a run of {job} is not finished"
    last = instance.get_run_records(dg.RunsFilter(job_name=job), limit=1)
    if last and last[0].dagster_run.status == dg.DagsterRunStatus.FAILURE:
        ended = last[0].end_time or 0.0
        if time.time() - ended < _PAUSE:
            return f"{job} failed: it is tried again {_PAUSE / 60:.0f} minutes after that"
    return None
