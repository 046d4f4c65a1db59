"""examples/celery on one machine: the daemon's runs are done by two Celery workers, and no text is embedded twice.

The broker is the one that needs no server of its own, kombu's on a database; a deployment takes Redis or RabbitMQ.
"""

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from tests.acceptance.conftest import REPOSITORY, wait_for
from tests.integration.sync.living_vault import backdate, note
from tests.servers.embedding_api import EmbeddingApi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

FOLDERS = [f"f{number:02d}" for number in range(12)]
SHARED = [f"Every team has paragraph {number}, word for word the same." for number in range(24)]


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
        start(*worker, "--hostname", f"{name}@%h", "--without-mingle", "--without-gossip")
    daemon = start("dagster-daemon", "run", "-m", "pipelines.definitions")
    wait_for(lambda: _published(database) == len(FOLDERS), seconds=180, process=daemon)

    vault = Path(environment["VAULT_PATH"])
    for folder in (FOLDERS[0], FOLDERS[-1]):  # too far apart for one run
        _write(vault, f"{folder}/n.md", *SHARED, f"New in {folder}.")
    wait_for(lambda: _published(database, "New in%") == 2, seconds=180, process=daemon)

    runs = wait_for(lambda: _last_runs(environment["DAGSTER_POSTGRES_URL"]), seconds=60)
    assert isinstance(runs, dict)
    assert len(runs) == 2, "a run a folder"
    served = Counter(text for text in api.served if "word for word" in text)
    assert len(served) == len(SHARED)
    assert set(served.values()) == {1}, "what both folders hold is embedded by one of the workers"
    assert len(set(runs.values())) == 2, "each worker did one of them"


def _published(url: str, like: str = "%") -> int:
    """Documents that search can find, by what they hold."""
    with psycopg.connect(url) as connection:
        statement = "SELECT count(DISTINCT source) FROM knowledge WHERE content LIKE %s"
        row = connection.execute(statement, (like,)).fetchone()
    return int(row[0]) if row else 0


def _last_runs(url: str) -> dict[str, str]:
    """Process of the runs of the two folders, by folder, when both have ended well."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(
            sqlalchemy.text(
                "SELECT p.value, w.value FROM runs r JOIN run_tags p ON p.run_id = r.run_id "
                "JOIN run_tags w ON w.run_id = r.run_id AND w.key = 'vaultline/process' "
                "WHERE p.key = 'dagster/partition' AND r.status = 'SUCCESS'"
            )
        ).all()
    engine.dispose()
    found = {str(folder): str(process) for folder, process in rows}
    return found if {FOLDERS[0], FOLDERS[-1]} <= set(found) else {}
