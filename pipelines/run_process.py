"""Which process executes a run: written on the run, so that one whose process was killed does not look alive for ever.

Dagster notices a killed process only while the server that started it lives on, and never that of a command.
"""

import contextlib
import socket
from collections.abc import Sequence

import dagster as dg
import psutil

TAG = "vaultline/process"
"""`host/pid/start`: the start (in seconds since 1970) tells a process from a later one with the same number."""

_SAME_SECONDS = 2.0  # a start is told in steps, from a boot time that a corrected clock shifts a little


def this_process() -> dict[str, str]:
    """The run tag of the running process."""
    process = psutil.Process()
    return {TAG: f"{socket.gethostname()}/{process.pid}/{process.create_time():.0f}"}


def is_dead(run: dg.DagsterRun) -> bool:
    """True when the run's process was one of this machine and is gone. False where nothing can be known."""
    host, _, process = run.tags.get(TAG, "").rpartition("/")[0].rpartition("/")
    started = run.tags.get(TAG, "").rpartition("/")[2]
    if host != socket.gethostname():
        return False
    try:
        found = psutil.Process(int(process))
        if found.status() == psutil.STATUS_ZOMBIE:  # killed, and whoever started it has not asked about it since
            return True
        return bool(abs(found.create_time() - float(started)) > _SAME_SECONDS)
    except (psutil.NoSuchProcess, ValueError):
        return True
    except psutil.AccessDenied:
        return False


def bury(instance: dg.DagsterInstance, runs: Sequence[dg.DagsterRun]) -> list[dg.DagsterRun]:
    """Report runs whose process is gone as failed; returns the others.

    Also those that had not started: a sync may be killed between writing its run down and starting it.
    """
    alive = []
    for run in runs:
        if is_dead(run) and not _has_inherited(instance, run):
            with contextlib.suppress(dg.DagsterInvariantViolationError):
                instance.report_run_failed(run, "the process of this run was killed; what it did is kept")
        else:
            alive.append(run)
    return alive


def _has_inherited(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """A run that repeats another gets its tags, the process of the other among them, until it has begun itself."""
    parent = instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None
    return parent is not None and parent.tags.get(TAG) == run.tags.get(TAG)
