"""What `vaultline watch` does: stay, and sync on every save, with the model loaded."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from types import FrameType

from pipelines.errors import SettingsError, VaultlineError
from pipelines.resources.store import Store
from pipelines.settings import Settings
from pipelines.sync import sync
from pipelines.sync_report import SyncReport
from pipelines.vault import rules
from pipelines.vault.uploads import prepare
from pipelines.warm_up import load_models

_DEBOUNCE_MS = 400
_STEP_MS = 80
"""A burst of events is one sync: it starts when nothing came for a step, or after the debounce time."""

_BUILD_SECONDS = 5.0
"""A migration to another model goes on in slices of this, between saves."""

_BUILD_PAUSE = 10.0
"""Seconds between two slices, if no save comes."""

_LOOK_AGAIN = 60.0
"""Seconds after which the vault is compared without an event: some file systems send none, and a no-op is cheap."""

_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a sync that failed is tried again, after the first failure, the second and so on."""


Say = Callable[[SyncReport | VaultlineError], None]


def watch(settings: Settings, *, say: Say) -> None:
    """Sync now and at every change, until Ctrl-C or SIGTERM. `say` is told each result that is news.

    A vault, database or provider that goes away is waited for. Raises SettingsError only.
    """
    stop, changed = Event(), Event()
    with _stopped_by_signals(stop, changed), _watched(settings, stop, changed):
        load_models(settings)  # before the first save needs them
        failures, told = 0, None
        while not stop.is_set():
            changed.clear()  # before the look: a save that comes later is not lost, at worst looked for twice
            try:
                report = sync(settings, build_seconds=_BUILD_SECONDS)
            except SettingsError:
                raise
            except KeyboardInterrupt:  # Dagster's own handlers are in place while a run goes on; its work is kept
                return
            except VaultlineError as error:
                if failures == 0 or failures >= len(_PAUSES):
                    say(error)
                stop.wait(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1
                continue
            failures = 0
            standing = (report.notice, report.migration)
            if report.folders or (any(standing) and standing != told):
                say(report)
            told = standing
            limit = _BUILD_PAUSE if report.migration else _LOOK_AGAIN
            changed.wait(min(limit, settings.vault_git_seconds) if Store(settings).keeps_clone else limit)


@contextlib.contextmanager
def _watched(settings: Settings, stop: Event, changed: Event) -> Iterator[None]:
    """Set `changed` whenever something in the vault or among the uploads may have changed.

    A clone changes only when we update it.
    """
    store = Store(settings)
    roots: list[Callable[[], Path]] = [] if store.keeps_clone else [lambda: Store(settings).vault]
    if (uploads := store.uploads) is not None:
        with contextlib.suppress(OSError):  # looked at every minute all the same
            prepare(uploads)
            roots.append(lambda: uploads)
    watchers = [Thread(target=_follow, args=(root, stop, changed), name="watch", daemon=True) for root in roots]
    for watcher in watchers:
        watcher.start()
    try:
        yield
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join(timeout=5)


def _follow(root: Callable[[], Path], stop: Event, changed: Event) -> None:
    """A watcher's thread: takes the folder up again after it was away or replaced."""
    away = False
    while not stop.is_set():
        try:
            path = root().resolve(strict=True)
            if away:
                changed.set()
            away = False
            _follow_root(path, stop, changed)
            changed.set()  # whatever happened meanwhile sent no event
        except (OSError, VaultlineError):
            away = True
            stop.wait(_PAUSES[0])


def _follow_root(root: Path, stop: Event, changed: Event) -> None:
    """Until the root is another folder than it was: an unmounted disk or a renamed folder sends no event any more."""
    from watchfiles import watch as events

    identity = _identity(root)
    for changes in events(
        root,
        watch_filter=lambda _change, path: _counts(root, path),
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        rust_timeout=1_000,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        if changes:
            changed.set()
        if _identity(root) != identity:
            return


def _counts(root: Path, path: str) -> bool:
    """Whether a change may matter to a scan. What a rule leaves out is left to the scan; this is about editors' noise
    and git's, but for the files that say what is left out."""
    inner = Path(path).relative_to(root).parts if path.startswith(f"{root}/") else ()
    hidden = [part for part in inner if part.startswith(".")]
    if hidden and inner[-1] not in (".gitignore", ".vaultignore", "app.json", "HEAD"):
        return False
    return not (inner and rules.is_temporary(inner[-1].encode("utf-8", "surrogateescape")))


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def _stopped_by_signals(stop: Event, changed: Event) -> Iterator[None]:
    """Ctrl-C or SIGTERM ends the watch, and interrupts a run that is going on; what it did is kept."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        changed.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
