"""A progress bar for work that lasts longer than two seconds, where somebody sees it.

It asks the database, so that the stages need not know that anybody watches.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.errors import VaultlineError
from pipelines.settings import Settings

_QUIET_SECONDS = 2.0
_INTERVAL = 0.7


@contextmanager
def progress(settings: Settings, *, show: bool) -> Iterator[None]:
    """Show how far parsing and embedding are while the block runs, on stderr if that is a terminal."""
    if not show or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(settings, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(timeout=5)


def _watch(settings: Settings, done: threading.Event) -> None:
    if done.wait(_QUIET_SECONDS):
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from pipelines.storage import reports
    from pipelines.storage.database import Database

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {name: bars.add_task(name, total=None) for name in ("documents", "vectors", "published")}
        while not done.wait(_INTERVAL):
            try:
                with Database.from_settings(settings).connect() as connection:
                    for name, (completed, total) in reports.progress(connection).items():
                        bars.update(tasks[name], completed=completed, total=total)
            except VaultlineError:
                continue  # the work itself says what is wrong
