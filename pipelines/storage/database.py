"""Connections to Postgres, and the one place where the driver's errors become ours."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from pipelines.errors import (
    DatabaseConflict,
    DatabaseError,
    DatabaseFull,
    DatabaseRefused,
    DatabaseUnavailable,
    DatabaseUnsupported,
)
from pipelines.settings import Settings
from pipelines.storage import server

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

Connection = psycopg.Connection[tuple[object, ...]]
T = TypeVar("T")

MINIMUM_SERVER = 160000
MINIMUM_PGVECTOR = (0, 8)
_CONNECT_SECONDS = 10
_SOON = 0.1  # seconds
_NOT_YET = re.compile(
    "the database system is (starting up|in recovery mode|not yet accepting connections)"
    "|server closed the connection unexpectedly"  # one of its processes was killed a moment ago, and ours with it
)


class Database:
    """Where the data lives. Opens connections; holds a small pool for readers.

    `home` is the VAULTLINE_HOME of an embedded server: killed, it is started again by whoever needs it next.
    """

    def __init__(self, url: str, *, home: Path | None = None) -> None:
        self.url = url
        self._home = home
        self._pool: ConnectionPool[Connection] | None = None
        self._opening = Lock()

    @classmethod
    def from_settings(cls, settings: Settings) -> "Database":
        """The server of DATABASE_URL, or the embedded one, started if it does not run."""
        if settings.database_url is not None:
            return cls(_checked(settings.database_url.get_secret_value()))
        status = server.status(settings.vaultline_home)
        if not status.running:
            status = server.start(settings.vaultline_home)
        if status.url is None:
            raise DatabaseUnavailable(f"the embedded database in {status.data} does not answer")
        _create_embedded_database(status.url)
        return cls(status.url, home=settings.vaultline_home)

    @property
    def safe_url(self) -> str:
        """The address without its password, for messages and logs."""
        return _without_password(self.url)

    @contextlib.contextmanager
    def connect(self, *, autocommit: bool = False) -> Iterator[Connection]:
        """A connection of its own, committed at the end and undone by an exception.

        Raises the DatabaseError that tells what went wrong, also for errors inside the block.
        """
        with translated(self.safe_url), self._opened(autocommit=autocommit) as connection:
            yield connection

    def _opened(self, *, autocommit: bool) -> Connection:
        try:
            return _open(self.url, autocommit=autocommit)
        except psycopg.OperationalError:
            if not self._revived():
                raise
            return _open(self.url, autocommit=autocommit)

    def _revived(self) -> bool:
        """Start an embedded server again that was killed; False if that is not what is wrong."""
        if self._home is None or not server.has_crashed(self._home):
            return False
        server.start(self._home)
        return True

    @contextlib.contextmanager
    def reader(self) -> Iterator[Connection]:
        """A pooled connection in a transaction, for servers that answer many questions; survives restarts."""
        self._revived()  # else the pool would knock for its ten seconds first
        with translated(self.safe_url), self._open_pool().connection(timeout=_CONNECT_SECONDS) as connection:
            yield connection

    def close(self) -> None:
        """Close the pool, if there is one."""
        with self._opening:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _open_pool(self) -> "ConnectionPool[Connection]":
        from psycopg_pool import ConnectionPool

        with self._opening:  # threads that ask at once share one pool: one that nobody holds ends in a thread's garbage
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.url,
                    connection_class=psycopg.Connection,
                    kwargs={"connect_timeout": _CONNECT_SECONDS, "application_name": "vaultline"},
                    check=ConnectionPool.check_connection,  # a restarted server must not cost a failed request
                    min_size=1,
                    max_size=8,
                    open=True,
                )
            return self._pool


@contextlib.contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn the driver's errors into ours; `address` is named in the messages."""
    try:
        yield
    except (pg.DeadlockDetected, pg.SerializationFailure, pg.LockNotAvailable) as error:
        raise DatabaseConflict(f"the database undid a transaction to end a conflict: {_first_line(error)}") from error
    except (pg.DiskFull, pg.OutOfMemory, pg.TooManyConnections) as error:
        raise DatabaseFull(f"the database at {address} has run out of room: {_first_line(error)}") from error
    except (pg.ReadOnlySqlTransaction, pg.InsufficientPrivilege, pg.InvalidAuthorizationSpecification) as error:
        raise DatabaseRefused(f"the database at {address} refused: {_first_line(error)}") from error
    except psycopg.OperationalError as error:
        raise _connection_error(error, address) from error
    except psycopg.Error as error:
        if error.sqlstate is None and type(error).__module__ == "psycopg_pool.errors":
            raise DatabaseUnavailable(f"no connection to the database at {address}") from error
        raise DatabaseError(f"the database at {address} answered: {_first_line(error)}") from error


def make_commits_cheap(connection: Connection) -> None:
    """Do not wait for the disk at each commit of this connection. A server that crashes loses its last moments' work,
    in order; what is lost is pending again."""
    connection.execute("SET synchronous_commit = off")


def retry_conflicts(work: Callable[[], T]) -> T:
    """Run a transaction again, up to 6 times, when the server undid it because of another one."""
    retrying = retry(
        retry=retry_if_exception_type(DatabaseConflict),
        stop=stop_after_attempt(6),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        reraise=True,
    )
    return retrying(work)()


def check_server(connection: Connection, address: str) -> None:
    """Raise DatabaseUnsupported unless the server and its pgvector are new enough."""
    version = connection.info.server_version
    if version < MINIMUM_SERVER:
        raise DatabaseUnsupported(
            f"the server at {address} is PostgreSQL {version // 10000}; "
            f"Vaultline needs {MINIMUM_SERVER // 10000} or newer"
        )
    row = connection.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    if row is None:
        raise DatabaseUnsupported(
            f"the server at {address} has no pgvector; install the extension, or use the image pgvector/pgvector:pg18"
        )
    installed = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    found = str((installed or row)[0])
    if _version(found) < MINIMUM_PGVECTOR:
        newer_at_hand = installed is not None and _version(str(row[0])) >= MINIMUM_PGVECTOR
        hint = "run ALTER EXTENSION vector UPDATE" if newer_at_hand else "update it"
        raise DatabaseUnsupported(f"pgvector at {address} is {found}; Vaultline needs 0.8 or newer: {hint}")


def _open(url: str, *, autocommit: bool) -> Connection:
    """Connect; a server that is just starting, or recovering from a crash, is waited for a little."""
    deadline = time.monotonic() + _CONNECT_SECONDS
    while True:
        try:
            return psycopg.connect(
                url, autocommit=autocommit, connect_timeout=_CONNECT_SECONDS, application_name="vaultline"
            )
        except psycopg.OperationalError as error:
            if not _NOT_YET.search(str(error)) or time.monotonic() > deadline:
                raise
        time.sleep(_SOON)


def _create_embedded_database(url: str) -> None:
    """The embedded server starts with the database `postgres` only; ours is made once."""
    try:
        with _open(url, autocommit=True):
            return
    except psycopg.OperationalError as error:
        if "does not exist" not in str(error):
            raise _connection_error(error, _without_password(url)) from error
    maintenance = make_conninfo(url, dbname="postgres")
    with (
        translated(_without_password(url)),
        _open(maintenance, autocommit=True) as connection,
        contextlib.suppress(pg.DuplicateDatabase, pg.UniqueViolation),
    ):
        connection.execute(f"CREATE DATABASE {server.DATABASE} TEMPLATE template0 ENCODING 'UTF8'")


def _connection_error(error: psycopg.OperationalError, address: str) -> DatabaseError:
    text = str(error)
    if isinstance(error, pg.InvalidPassword) or "password authentication failed" in text or "no password" in text:
        return DatabaseRefused(f"the database at {address} refused the user or password: check DATABASE_URL")
    if "does not exist" in text and ("database" in text or "role" in text):
        missing = "database" if 'database "' in text else "user"
        return DatabaseRefused(f"the {missing} in {address} does not exist: create it, or check DATABASE_URL")
    if "no space left" in text.lower():
        return DatabaseFull(f"the database at {address} has run out of room")
    return DatabaseUnavailable(
        f"cannot reach the database at {address}: {_first_line(error)}. "
        "Start it, or unset DATABASE_URL to use the embedded one (vaultline db start)."
    )


def _checked(url: str) -> str:
    from pipelines.errors import SettingsError

    try:
        parts = conninfo_to_dict(re.sub(r"^postgresql\+\w+://", "postgresql://", url))
    except psycopg.Error:
        raise SettingsError(
            "DATABASE_URL is not a PostgreSQL address like postgresql://USER:PASSWORD@HOST:5432/NAME"
        ) from None
    return make_conninfo("", **parts)


def _without_password(url: str) -> str:
    parts = conninfo_to_dict(url)
    user, host = parts.get("user"), parts.get("host", "localhost")
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{f'{user}@' if user else ''}{host}{port}/{parts.get('dbname', '')}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
