"""git: keeps the clone of VAULT_GIT_URL and starts one run for a push, named after its commit.

A commit counts as done when the tables hold what its files say, whichever run achieved that: the fact `commit_done`.
"""

import json
import time

import dagster as dg

from pipelines.errors import RemoteUnreachable, VaultlineError, VaultUnavailable
from pipelines.jobs import FETCH, INDEX
from pipelines.resources.store import COMMIT_DONE, Store
from pipelines.sensors.indexing import UNFINISHED, find_need, keep_partitions, reasons, requests, unfinished_runs
from pipelines.settings import Settings
from pipelines.storage import documents
from pipelines.storage.database import Connection
from pipelines.vault.git_clone import GitUpdate

_TICK_SECONDS = 15.0
"""For each of the two conversations with the remote in a tick, which Dagster ends after 60 s."""

_TAG_LIMIT = 200
_SHORTEST = 5  # seconds; Dagster's daemon keeps no shorter interval


def git_sensor(settings: Settings) -> dg.SensorDefinition:
    """The sensor, asking every VAULT_GIT_SECONDS."""

    @dg.sensor(
        name="git",
        jobs=[INDEX, FETCH],
        minimum_interval_seconds=max(_SHORTEST, round(settings.vault_git_seconds)),
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Asks the vault's git remote for pushes and starts one run for what they changed.",
    )
    def git(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SensorResult | dg.SkipReason:
        return _tick(context, store)

    return git


def _tick(context: dg.SensorEvaluationContext, store: Store) -> dg.SensorResult | dg.SkipReason:
    if not store.keeps_clone:
        return dg.SkipReason("VAULT_GIT_URL is not set, or VAULT_PATH is: there is no clone to keep")
    if unfinished_runs(context.instance):  # files must not change under a run: a push waits for its end
        return dg.SkipReason("a run is not finished; the remote is asked after it")
    if context.instance.get_run_records(dg.RunsFilter(job_name=FETCH.name, statuses=list(UNFINISHED)), limit=1):
        return dg.SkipReason("the clone is being fetched by a run")
    try:
        if _is_slow(context.cursor) or not _is_cloned(store):
            return dg.SensorResult(run_requests=[dg.RunRequest(job_name=FETCH.name)], cursor="{}")
        update = store.update_clone(timeout=_TICK_SECONDS)
        assert update is not None
        with store.database.connect(autocommit=True) as connection:
            need = find_need(store, context.instance, connection, quiet=0.0, part="vault")  # only we write there
            keep_partitions(context.instance, connection, need)
            if need.is_done:
                note_done(connection, update.after)
    except RemoteUnreachable as error:
        slow = "no answer within" in str(error)
        return dg.SensorResult(skip_reason=str(error), cursor=json.dumps({"slow": time.time()} if slow else {}))
    except VaultlineError as error:
        return dg.SkipReason(str(error))
    if need.folders:
        return dg.SensorResult(run_requests=requests(context.instance, need.folders, tags_of(update), most=1))
    return dg.SkipReason(reasons(need.waiting) or f"{update.after[:12]} is indexed; the remote has nothing newer")


def tags_of(update: GitUpdate) -> dict[str, str]:
    """Run tags that say what a run is for."""
    return {
        "vaultline/started_by": "git sensor",
        "vaultline/commit": update.after,
        "vaultline/author": update.author[:_TAG_LIMIT],
        "vaultline/subject": update.subject[:_TAG_LIMIT],
    }


def note_done(connection: Connection, commit: str) -> None:
    """Write down that the tables hold a commit completely."""
    if documents.get_fact(connection, COMMIT_DONE) != commit:
        documents.put_fact(connection, COMMIT_DONE, commit)


def _is_cloned(store: Store) -> bool:
    try:
        return store.vault.is_dir()
    except VaultUnavailable:
        return False


def _is_slow(cursor: str | None) -> bool:
    """True after a tick in which the remote took too long: then a run fetches, which has the time."""
    return bool(cursor) and "slow" in str(cursor)
