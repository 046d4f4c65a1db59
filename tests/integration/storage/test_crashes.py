"""An embedded server that is killed: whoever needs it next starts it again, without losing what was committed."""

import contextlib
import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipelines.errors import DatabaseUnavailable
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: orphans below this process become its children


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Short, because a socket's path may have 107 bytes at most."""
    folder = Path(tempfile.mkdtemp(prefix="vl-"))
    yield folder
    server.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    """The server's, opened before anything happens to it, as a daemon's or a web server's is."""
    database = Database.from_settings(Settings.load(_env_file=None, vaultline_home=home))
    yield database
    database.close()


def _kill(home: Path) -> psutil.Process:
    pid = server.status(home).pid
    assert pid is not None
    process = psutil.Process(pid)
    process.kill()
    return process


@pytest.fixture
def reaper() -> Iterator[None]:
    """Servers started in this test become children of this process, which does not ask about them: a killed one stays
    a zombie, as it does for ever in a container whose process 1 is no init."""
    libc = ctypes.CDLL(None)
    before = {child.pid for child in psutil.Process().children()}
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    yield
    libc.prctl(_SUBREAPER, 0, 0, 0, 0)
    for child in psutil.Process().children():
        if child.pid not in before and child.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, 0)


def test_a_killed_server_that_nobody_asked_about_does_not_run(home: Path, reaper: None) -> None:
    database = Database.from_settings(Settings.load(_env_file=None, vaultline_home=home))
    server.stop(home)
    server.start(home)
    with database.connect() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS number")
    process = _kill(home)
    while process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert not server.status(home).running
    assert server.has_crashed(home)
    assert server.start(home).pid != process.pid
    with database.connect() as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (1,)


def test_a_connection_starts_a_killed_server_again(home: Path, database: Database) -> None:
    for open_one in (database.connect, database.reader):
        with open_one() as connection:
            connection.execute("SELECT 1")
        process = _kill(home)
        psutil.wait_procs([process], timeout=30)
        if open_one == database.reader:  # the pool finds its connections broken, and may say so once
            with contextlib.suppress(DatabaseUnavailable), database.reader() as connection:
                connection.execute("SELECT 1")
        with open_one() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_was_stopped_on_purpose_stays_stopped(home: Path, database: Database) -> None:
    server.stop(home)
    assert not server.has_crashed(home)
    with pytest.raises(DatabaseUnavailable), database.connect():
        pass
    assert not server.status(home).running


def test_a_server_that_recovers_from_a_crash_is_waited_for(home: Path) -> None:
    """One killed process makes PostgreSQL end all its connections and recover."""
    database = Database.from_settings(Settings.load(_env_file=None, vaultline_home=home))
    for _ in range(3):
        with contextlib.suppress(DatabaseUnavailable), database.connect(autocommit=True) as connection:
            (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
            psutil.Process(int(str(pid))).kill()
            connection.execute("SELECT 1")
        with database.connect() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
