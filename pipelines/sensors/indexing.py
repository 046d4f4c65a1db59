"""What the sensors on the vault share: which folders need a run, which of them wait, and the requests.

Level-triggered: every tick compares the vault's files (one stat each) with the tables, which are the truth. The cursor
remembers nothing but for how long somebody has been writing, so losing it loses nothing.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import dagster as dg

from pipelines.intake.apply import refuse_loss
from pipelines.intake.look import Look, Part, look, settle
from pipelines.partitions import FOLDERS, forget, range_tags, ranges, register
from pipelines.resources.store import Store
from pipelines.run_process import bury
from pipelines.storage import documents, reports
from pipelines.storage.database import Connection
from pipelines.vault.content import quiet_for
from pipelines.vault.folders import UPLOADS_KEY
from pipelines.vault.git_history import head_commit

JOB = "index"
_JOBS = (JOB, "__ASSET_JOB")  # the second is what the UI's "Materialize" starts

UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
_MOST_RUNS = 4
"""Runs requested by one tick. Beyond that ranges are joined: the unchanged folders in between cost 0.13 s each."""

_READ_LIMIT = 64 * 1024
_READ_ALL = 4 * 1024 * 1024
"""Bytes of one file, and of all files, that a tick reads to see whether a touched file really changed."""

_PAUSES = (30.0, 120.0, 600.0, 1800.0)
"""Seconds before folders are tried again whose last run failed, or the last two, three, four and more."""

_HISTORY = 30
_PATIENCE = 30.0
"""Seconds after which a file that never stops changing is indexed as it is; read_stable keeps it whole."""


@dataclass(frozen=True)
class Need:
    """What a tick found. `folders` need a run now; `waiting` maps those that do not get one yet to the reason."""

    seen: Look
    folders: frozenset[str]
    waiting: Mapping[str, str]
    busy: frozenset[str]
    is_busy: bool

    @property
    def is_done(self) -> bool:
        """True when the tables say what the vault says."""
        return not self.folders and not self.waiting and not self.is_busy


def find_need(
    store: Store,
    instance: dg.DagsterInstance,
    connection: Connection,
    *,
    quiet: float,
    changing_since: float | None = None,
    part: Part = "all",
) -> Need:
    """Look, and sort the folders with work. `quiet` is for how many seconds a file must not have been
    written to; `changing_since` is when one was first seen that was, or None; `part` is what to look at.

    Waits for the quiet time once, if somebody is just saving. Raises VaultUnavailable, VaultShrank and
    DatabaseError; those are reasons to skip the tick.
    """
    seen = _settle_small(store, connection, look(store, connection, part=part))
    loud = _loud_folders(seen, quiet)
    if loud or _losses(seen):
        time.sleep(quiet)
        before, seen = seen, _settle_small(store, connection, look(store, connection, part=part))
        loud = _loud_folders(seen, quiet) | _moved_since(before, seen)
        if changing_since is not None and time.time() - changing_since > max(_PATIENCE, 10 * quiet):
            loud = set()
    refuse_loss(store, seen, confirm_deletes=False)
    pending = _pending(store, connection)
    wanted = seen.touched_folders() | {name for name in pending if part == "all" or _is_of(part, name)}
    if wanted and store.recipe.parsing.resolve_embeds:
        wanted |= set(seen.folders.values())
    if not wanted and part != "uploads" and (folders := set(seen.folders.values()) - {UPLOADS_KEY}):
        head = head_commit(store.vault)
        if head is not None and head != documents.get_fact(connection, "dated_head"):
            wanted = {min(folders)}  # one run dates all documents
    unfinished = unfinished_runs(instance)
    busy = frozenset(covered(instance, unfinished))
    waiting = dict.fromkeys(wanted & loud, "still being written")
    waiting |= dict.fromkeys(wanted & busy, "a run of it is not finished")
    waiting |= {folder: reason for folder, reason in _pauses(instance).items() if folder in wanted}
    return Need(seen, frozenset(wanted - waiting.keys()), waiting, busy, bool(unfinished))


def requests(
    instance: dg.DagsterInstance, folders: Collection[str], tags: Mapping[str, str], *, most: int = _MOST_RUNS
) -> list[dg.RunRequest]:
    """Run requests for folders, after registering those that Dagster does not know. No run key: see dagster's T7."""
    register(instance, sorted(folders))
    made = []
    for first, last in _few(instance, folders, most):
        own = {**range_tags(first, last), **tags}
        made.append(dg.RunRequest(job_name=JOB, partition_key=own.pop("dagster/partition", None), tags=own))
    return made


def keep_partitions(instance: dg.DagsterInstance, connection: Connection, need: Need) -> list[str]:
    """Delete partitions of folders that hold nothing, neither in the vault nor in the tables, and have no run.

    Adds those of the tables that Dagster does not know: its own database may have been lost. Returns the deleted ones.
    """
    known = documents.folders(connection)
    register(instance, known)
    return forget(instance, sorted({*known, *need.seen.folders.values(), *need.busy}))


def unfinished_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Runs that index and have not ended, without those whose process is gone (they are reported as failed)."""
    found: list[dg.DagsterRun] = []
    for job in _JOBS:
        records = instance.get_run_records(dg.RunsFilter(job_name=job, statuses=list(UNFINISHED)))
        found += [record.dagster_run for record in records]
    return bury(instance, found)


def covered(instance: dg.DagsterInstance, runs: Iterable[dg.DagsterRun]) -> set[str]:
    """Folders that some runs work on."""
    order = list(instance.get_dynamic_partitions(str(FOLDERS.name)))
    places = {key: place for place, key in enumerate(order)}
    folders: set[str] = set()
    for run in runs:
        first = run.tags.get("dagster/asset_partition_range_start")
        last = run.tags.get("dagster/asset_partition_range_end")
        if first in places and last in places:
            folders.update(order[places[first] : places[last] + 1])
        folders.update(name for name in (run.tags.get("dagster/partition"), first, last) if name)
    return folders


def reasons(waiting: Mapping[str, str]) -> str:
    """Why folders wait, for the tick's line in the UI."""
    by_reason: dict[str, list[str]] = {}
    for folder, reason in sorted(waiting.items()):
        by_reason.setdefault(reason, []).append(folder)
    return "; ".join(f"{reason}: {_listed(folders)}" for reason, folders in by_reason.items())


def _listed(folders: Sequence[str]) -> str:
    return ", ".join(folders[:5]) + (f" and {len(folders) - 5} more" if len(folders) > 5 else "")


def _settle_small(store: Store, connection: Connection, seen: Look) -> Look:
    """Drop known files that were only touched, as far as reading them is a trifle."""
    small, large, total = [], [], 0
    for file in seen.differences.to_read:
        if file.source in seen.known and file.size <= _READ_LIMIT and total + file.size <= _READ_ALL:
            small.append(file)
            total += file.size
        else:
            large.append(file)
    if not small:
        return seen
    settled = settle(store, connection, replace(seen, differences=replace(seen.differences, to_read=tuple(small))))
    to_read = (*settled.differences.to_read, *large)
    return replace(settled, differences=replace(settled.differences, to_read=to_read))


def _loud_folders(seen: Look, quiet: float) -> set[str]:
    now = time.time_ns()
    return {
        seen.folders[file.source]
        for file in seen.differences.to_read
        if file.mtime_ns > now or not quiet_for(file, seconds=quiet, now_ns=now)
    }


def _is_of(part: Part, folder: str) -> bool:
    return (folder == UPLOADS_KEY) == (part == "uploads")


def _losses(seen: Look) -> bool:
    """Deleted is also what an editor's file is for a moment while it is being replaced."""
    return bool(seen.differences.vanished or seen.differences.shut_out)


def _moved_since(before: Look, after: Look) -> set[str]:
    """Folders of which two looks say different things."""
    first, second = _signs(before), _signs(after)
    return {folder for folder, _ in first ^ second}


def _signs(seen: Look) -> set[tuple[str, tuple[object, ...]]]:
    different = seen.differences
    files = {(seen.folders[f.source], (f.source, f.size, f.mtime_ns)) for f in different.to_read}
    return files | {(row.folder, (row.source, "gone")) for row in (*different.vanished, *different.shut_out)}


def _pending(store: Store, connection: Connection) -> set[str]:
    recipe = store.recipe
    return set(
        reports.pending_folders(connection, parsers=recipe.parsers, chunker=recipe.chunker, describer=recipe.describer)
    )


def _pauses(instance: dg.DagsterInstance) -> dict[str, str]:
    """Folders whose last runs failed a short time ago, and why they wait."""
    failures: dict[str, int] = {}
    ended: dict[str, float] = {}
    settled: set[str] = set()
    records = instance.get_run_records(dg.RunsFilter(job_name=JOB), limit=_HISTORY)
    if not any(record.dagster_run.status == dg.DagsterRunStatus.FAILURE for record in records):
        return {}
    for record in records:  # newest first
        status = record.dagster_run.status
        folders = covered(instance, [record.dagster_run]) - settled
        if status == dg.DagsterRunStatus.FAILURE:
            for folder in folders:
                failures[folder] = failures.get(folder, 0) + 1
                ended.setdefault(folder, record.end_time or record.create_timestamp.timestamp())
        elif status in (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.CANCELED):
            settled |= folders
    now = time.time()
    paused = {}
    for folder, count in failures.items():
        pause = _PAUSES[min(count, len(_PAUSES)) - 1]
        if 0 <= now - ended[folder] < pause:
            paused[folder] = f"its last run failed, it is tried again {pause:.0f} s after that"
    return paused


def _few(instance: dg.DagsterInstance, folders: Collection[str], most: int) -> list[tuple[str, str]]:
    """`partitions.ranges`, joined over the smallest gaps until there are at most `most`."""
    found = ranges(instance, sorted(folders))
    if len(found) <= most:
        return found
    places = {key: place for place, key in enumerate(instance.get_dynamic_partitions(str(FOLDERS.name)))}
    spans = [(places[first], places[last]) for first, last in found]
    gaps = sorted(range(1, len(spans)), key=lambda at: spans[at][0] - spans[at - 1][1])
    joined = set(gaps[: len(spans) - most])
    few: list[tuple[str, str]] = []
    for at, span in enumerate(found):
        if at in joined:
            few[-1] = (few[-1][0], span[1])
        else:
            few.append(span)
    return few
