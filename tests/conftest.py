"""Fixtures shared by the whole suite: a real embedded PostgreSQL for the session, a fresh database for each test."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.storage.migrations import migrate
from tests.databases import migrated_database

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> None:
    """Settings of whoever runs the tests must not reach them."""
    for name in Settings.model_fields:
        os.environ.pop(name.upper(), None)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real-world corpora beside the checkout; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared corpora are not beside this checkout")
    return SHARED_DATA


@pytest.fixture(scope="session")
def server_home() -> Iterator[Path]:
    """A home whose embedded server runs for the session. Short, because a socket's path may have 107 bytes at most."""
    home = Path(tempfile.mkdtemp(prefix="vl-"))
    server.start(home)
    yield home
    server.stop(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def template_url(server_home: Path) -> str:
    """Address of a migrated, empty database that tests are copied from."""
    database = Database.from_settings(Settings.load(_env_file=None, vaultline_home=server_home))
    migrate(database)
    return database.url


@pytest.fixture
def database(template_url: str) -> Iterator[Database]:
    """A fresh migrated database of this test's own."""
    with migrated_database(template_url) as url:
        database = Database(url)
        yield database
        database.close()


@pytest.fixture
def settings(database: Database, tmp_path: Path) -> Settings:
    """Settings for a vault in the test's folder, the test's database and the deterministic embedder."""
    vault = tmp_path / "vault"
    vault.mkdir()
    return Settings.load(
        _env_file=None,
        vault_path=vault,
        vaultline_home=tmp_path / "home",
        database_url=database.url,
        embedding_model="fake/test-64",
    )
