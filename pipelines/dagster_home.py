"""Where Dagster keeps its records on this machine, for commands that run the assets without a Dagster deployment."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import DatabaseError, DatabaseFull, SettingsError
from pipelines.settings import Settings

if TYPE_CHECKING:
    import dagster as dg

_LOCAL = """\
# Written by Vaultline for runs on this machine; a deployment has its own dagster.yaml (see the one in the repository).
telemetry:
  enabled: false
nux:
  enabled: false # the newsletter dialog
concurrency:
  runs:
    max_concurrent_runs: 2
    tag_concurrency_limits:
      - key: dagster/partition # one run a folder at a time
        value: {applyLimitPerUniqueValue: true}
        limit: 1
      - key: dagster/asset_partition_range_start # what backfills of the UI carry
        value: {applyLimitPerUniqueValue: true}
        limit: 1
run_queue:
  dequeue_interval_seconds: 1 # 5 by default, which every save would wait for
sensors:
  use_threads: true
  num_workers: 4
retention:
  sensor:
    purge_after_days: {skipped: 1, failure: 30, success: 30}
"""


def dagster_home(settings: Settings) -> Path:
    """The folder of DAGSTER_HOME: the environment's, or one inside VAULTLINE_HOME, made at the first call."""
    home = settings.vaultline_home.absolute() / "dagster"
    chosen = os.environ.get("DAGSTER_HOME")
    if chosen and Path(chosen) != home:
        if not Path(chosen).is_dir():
            raise SettingsError(f"DAGSTER_HOME is {chosen}, which is no folder: create it, or unset DAGSTER_HOME")
        return Path(chosen)
    home.mkdir(parents=True, exist_ok=True)
    config = home / "dagster.yaml"
    if not config.exists():
        config.write_text(_LOCAL, encoding="utf-8")
    return home


def open_instance(settings: Settings) -> "dg.DagsterInstance":
    """The Dagster instance that runs of this process are recorded in.

    Processes take turns here: Dagster makes its SQLite files when it first needs them, and two at once fail.
    """
    import dagster as dg

    home = dagster_home(settings)
    # Not by way of DAGSTER_HOME: set once, it would win over the home of every later call of this process.
    with _alone(home):
        instance = dg.DagsterInstance.from_config(str(home))
        instance.get_dynamic_partitions("none")  # the file of the event log is made by the first question
    return instance


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Hold the home's lock; where it cannot be had (a file system without locks, or read-only), go on without."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            lock = stack.enter_context((home / "open.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def records_translated(settings: Settings) -> Iterator[None]:
    """Turn errors of Dagster's own storage into ours. What our tables hold is not touched by them."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "sqlite3"):
            raise
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        full = "disk" in cause.lower()  # SQLite says "database or disk is full", and "disk I/O error" for a new file
        kind, hint = (DatabaseFull, "make room on the disk") if full else (DatabaseError, "try again")
        raise kind(f"Dagster's records in {dagster_home(settings)} cannot be written ({cause}): {hint}") from error
