"""The embedded server, the schema, and what a broken database says."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pipelines import errors
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database, check_server, retry_conflicts
from pipelines.storage.migrations import migrate


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="vl-"))
    yield folder
    server.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _empty_database(template_url: str, name: str) -> str:
    with psycopg.connect(make_conninfo(template_url, dbname="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return make_conninfo(template_url, dbname=name)


def test_migrations_run_once_even_from_three_processes(template_url: str) -> None:
    url = _empty_database(template_url, "migrated_at_once")
    code = (
        "from pipelines.storage.database import Database; from pipelines.storage.migrations import migrate; "
        f"print(len(migrate(Database({url!r}))))"
    )

    def run(_: int) -> int:
        return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    with ThreadPoolExecutor(3) as pool:
        counts = sorted(pool.map(run, range(3)))
    assert counts[:2] == [0, 0]
    assert counts[2] > 0
    assert migrate(Database(url)) == []


def test_a_lock_row_left_by_a_killed_migration_does_not_block(server_home: Path, template_url: str) -> None:
    database = Database(_empty_database(template_url, "migration_was_killed"))
    with database.connect() as connection:
        connection.execute("CREATE TABLE yoyo_lock (locked int PRIMARY KEY, ctime timestamp, pid int NOT NULL)")
        connection.execute("INSERT INTO yoyo_lock VALUES (1, now(), 1)")
    assert "0001_state" in migrate(database)


def test_a_newer_schema_is_refused(database: Database) -> None:
    with database.connect() as connection:
        connection.execute(
            "INSERT INTO _yoyo_migration (migration_hash, migration_id) VALUES ('x', '9999_from_the_future')"
        )
    with pytest.raises(errors.SchemaMismatch, match="9999_from_the_future"):
        migrate(database)


def test_an_old_server_is_named(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.storage.database.MINIMUM_SERVER", 990000)
    with database.connect() as connection, pytest.raises(errors.DatabaseUnsupported, match="needs 99 or newer"):
        check_server(connection, database.safe_url)


def test_an_old_pgvector_is_named(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.storage.database.MINIMUM_PGVECTOR", (99, 0))
    with database.connect() as connection, pytest.raises(errors.DatabaseUnsupported, match=r"pgvector at .* is 0"):
        check_server(connection, database.safe_url)


def test_an_unreachable_server_is_named_without_the_password() -> None:
    database = Database("host=127.0.0.1 port=9 user=u password=hunter2 dbname=d")
    with pytest.raises(errors.DatabaseUnavailable) as raised, database.connect():
        pass
    assert "127.0.0.1:9" in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in database.safe_url


def test_a_missing_database_is_named(template_url: str) -> None:
    with (
        pytest.raises(errors.DatabaseRefused, match="does not exist"),
        Database(make_conninfo(template_url, dbname="nowhere")).connect(),
    ):
        pass


def test_a_wrong_password_is_refused_without_saying_it(home: Path) -> None:
    running = server.start(home)
    assert running.url is not None
    url = make_conninfo(running.url, dbname="postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE someone LOGIN PASSWORD 'right'")
        (rules,) = connection.execute("SHOW hba_file").fetchone() or ("",)
    text = Path(rules).read_text()
    Path(rules).write_text("local all someone scram-sha-256\n" + text)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")
    with (
        pytest.raises(errors.DatabaseRefused) as raised,
        Database(make_conninfo(url, user="someone", password="wrong")).connect(),
    ):
        pass
    assert "password" in str(raised.value)
    assert "wrong" not in str(raised.value).replace("wrong password", "")


def test_a_malformed_address_is_a_settings_error() -> None:
    with pytest.raises(errors.SettingsError, match="DATABASE_URL"):
        Database.from_settings(Settings.load(_env_file=None, database_url="postgres:/half an address?x"))


def test_a_read_only_server_refuses_writes(database: Database) -> None:
    def write() -> None:
        with database.connect() as connection:
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("DELETE FROM document")

    with pytest.raises(errors.DatabaseRefused, match="read-only"):
        write()


def test_conflicts_are_tried_again() -> None:
    tries = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise errors.DatabaseConflict("deadlock")
        return "done"

    assert retry_conflicts(work) == "done"
    assert len(tries) == 3


def test_starting_and_stopping_twice(home: Path) -> None:
    first, second = server.start(home), server.start(home)
    assert first.pid == second.pid
    assert server.stop(home)
    assert not server.stop(home)
    assert not server.status(home).running


def test_a_killed_server_comes_back_with_what_was_committed(home: Path) -> None:
    settings = Settings.load(_env_file=None, vaultline_home=home)
    database = Database.from_settings(settings)
    migrate(database)
    with database.connect() as connection:
        connection.execute("INSERT INTO vault_fact (name, value) VALUES ('kept', '1')")
    pid = server.status(home).pid
    assert pid is not None
    process = psutil.Process(pid)
    workers = process.children(recursive=True)
    process.kill()
    psutil.wait_procs([process, *workers], timeout=30)
    assert not server.status(home).running
    assert (server.data_folder(home) / "postmaster.pid").exists(), "the pid file is stale, as after a crash"
    with Database.from_settings(settings).connect() as connection:
        assert connection.execute("SELECT value FROM vault_fact WHERE name = 'kept'").fetchone() == (1,)


def test_the_pool_survives_a_terminated_backend(database: Database) -> None:
    with database.reader() as connection:
        (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    with database.connect(autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (pid,))
    with database.reader() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
