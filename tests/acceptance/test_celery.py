"""examples/celery on one machine: the daemon's runs are done by two Celery workers, and no text is embedded twice.

The broker is the one that needs no server of its own, kombu's on a database; a deployment takes Redis or RabbitMQ.
"""

import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from tests.acceptance.conftest import REPOSITORY, wait_for
from tests.integration.sync.living_vault import backdate, note
from tests.servers.embedding_api import Answer, EmbeddingApi, Fault

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

FOLDERS = [f"f{number:02d}" for number in range(12)]
_RUNS = sqlalchemy.text("""
    SELECT folder.value, process.value FROM runs
    JOIN run_tags folder ON folder.run_id = runs.run_id AND folder.key = 'dagster/partition'
    JOIN run_tags process ON process.run_id = runs.run_id AND process.key = 'vaultline/process'
    WHERE runs.status = ANY(:states)""")
SHARED = [" ".join(f"team{number}x{word}" for word in range(120)) for number in range(24)]
"""Paragraphs of two notes, too long to be in one passage with another."""


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi(flavour="openai", key=None, dimensions=64, max_inputs=4, latency=0.1).running() as api:
        yield api


@pytest.fixture
def database(environment: dict[str, str], home: Path, tmp_path: Path, api: EmbeddingApi) -> str:
    """Settings of all machines: one Postgres, one vault, the example. Returns the database's address."""
    server.start(home)
    url = Database.from_settings(Settings.load(_env_file=None, vaultline_home=home)).url
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection:
        for name in ("dagster", "broker"):
            connection.execute(f"CREATE DATABASE {name}")
    parts = conninfo_to_dict(url)
    base = f"postgresql+psycopg2://{parts['user']}@/{{}}?host={parts['host']}"
    dagster_home, vault = tmp_path / "dagster", tmp_path / "notes"
    dagster_home.mkdir()
    shutil.copy(REPOSITORY / "examples/celery/dagster.yaml", dagster_home)
    for folder in FOLDERS:
        _write(vault, f"{folder}/n.md", f"Only in {folder}.")
    environment |= {
        "VAULT_PATH": str(vault),
        "DATABASE_URL": url,
        "DAGSTER_HOME": str(dagster_home),
        "DAGSTER_POSTGRES_URL": base.format("dagster"),
        "CELERY_BROKER_URL": f"sqla+{base.format('broker')}",
        "CELERY_RESULT_BACKEND": f"db+{base.format('broker')}",
        "PYTHONPATH": str(REPOSITORY / "examples/celery"),
        "EMBEDDING_MODEL": "openai/local",
        "EMBEDDING_BASE_URL": api.url,
        "VAULT_QUIET_SECONDS": "0.2",
    }
    return url


def _write(vault: Path, source: str, *paragraphs: str) -> None:
    path = vault / source
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(note(f"Part {number}", text) for number, text in enumerate(paragraphs)), encoding="utf-8")
    backdate([path])


def test_two_workers_divide_the_folders_and_no_text_is_embedded_twice(
    environment: dict[str, str],
    database: str,
    api: EmbeddingApi,
    start: Callable[..., subprocess.Popen[bytes]],
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    run("vaultline", "db", "migrate")
    run("dagster", "instance", "migrate")
    worker = ("celery", "--app", "dagster_celery.app", "worker", "--queues", "dagster", "--concurrency", "1")
    for name in ("one", "two"):
        process = start(*worker, "--hostname", f"{name}@%h", "--without-mingle", "--without-gossip")
        wait_for(
            lambda: _has_queue(database), seconds=90, process=process
        )  # two would make the broker's tables at once
    daemon = start("dagster-daemon", "run", "-m", "pipelines.definitions")
    wait_for(lambda: _published(database) == len(FOLDERS), seconds=180, process=daemon)

    both = threading.Event()

    def hold(answer: Answer) -> Answer:
        both.wait(60)
        return answer

    api.always = Fault(change=hold)  # no run ends before both are at work
    vault = Path(environment["VAULT_PATH"])
    for folder in (FOLDERS[0], FOLDERS[-1]):  # too far apart for one run
        _write(vault, f"{folder}/n.md", *SHARED, f"New in {folder}.")
    records = environment["DAGSTER_POSTGRES_URL"]
    wait_for(lambda: len(_runs(records, "STARTED", "SUCCESS")) == 2, seconds=180, process=daemon)
    both.set()
    wait_for(lambda: _published(database, "%New in f%") == 2, seconds=180, process=daemon)
    wait_for(lambda: len(_runs(records, "SUCCESS")) == 2, seconds=60)

    runs = _runs(records, "SUCCESS")
    assert set(runs) == {FOLDERS[0], FOLDERS[-1]}, "a run a folder"
    served = Counter(text for text in api.served if "team" in text)
    assert len(served) >= len(SHARED), "a passage each, at least"
    assert set(served.values()) == {1}, "what both folders hold is embedded by one of the workers"
    assert len(set(runs.values())) == 2, "each worker did one of them"


def _has_queue(url: str) -> bool:
    with psycopg.connect(make_conninfo(url, dbname="broker")) as connection:
        row = connection.execute("SELECT to_regclass('kombu_message')").fetchone()
    return row is not None and row[0] is not None


def _published(url: str, like: str = "%") -> int:
    """Documents that search can find, by what they hold."""
    with psycopg.connect(url) as connection:
        statement = "SELECT count(DISTINCT source) FROM knowledge WHERE content LIKE %s"
        row = connection.execute(statement, (like,)).fetchone()
    return int(row[0]) if row else 0


def _runs(url: str, *states: str) -> dict[str, str]:
    """Process of the runs of one folder that are in one of these states, by folder."""
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(_RUNS, {"states": list(states)}).all()
    engine.dispose()
    return {str(folder): str(process) for folder, process in rows}
