"""A vault, a database and a Dagster home of each test's own, quickly."""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pipelines.dagster_home import open_instance
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from tests.convergence import assert_same_as_clean_build
from tests.integration.sync.living_vault import LivingVault

_numbers = count(1)


@pytest.fixture(scope="session")
def dagster_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with Dagster's empty SQLite files: making them takes longer than a sync."""
    home = tmp_path_factory.mktemp("home")
    with open_instance(Settings.load(_env_file=None, vaultline_home=home)) as instance:
        instance.add_dynamic_partitions("warm", ["up"])
        instance.delete_dynamic_partition("warm", "up")
    return home


@pytest.fixture
def new_home(dagster_template: Path, tmp_path: Path) -> Callable[[], Path]:
    """Make another VAULTLINE_HOME, ready for runs."""

    def make() -> Path:
        home = tmp_path / f"home-{next(_numbers)}"
        shutil.copytree(dagster_template, home)
        return home

    return make


@pytest.fixture
def new_database(template_url: str) -> Iterator[Callable[[], Database]]:
    """Make another empty, migrated database."""
    maintenance = make_conninfo(template_url, dbname="postgres")
    names: list[str] = []

    def make() -> Database:
        name = f"test_sync_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {server.DATABASE}")
        names.append(name)
        return Database(make_conninfo(template_url, dbname=name))

    yield make
    with psycopg.connect(maintenance, autocommit=True) as connection:
        for name in names:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture
def vault(settings: Settings, database: Database, new_home: Callable[[], Path], tmp_path: Path) -> LivingVault:
    """An empty vault, with the deterministic embedder and a log of its calls."""
    ready = settings.model_copy(update={"vaultline_home": new_home(), "embedding_fake_log": tmp_path / "calls.jsonl"})
    return LivingVault(ready, database)


@pytest.fixture
def converged(new_database: Callable[[], Database], new_home: Callable[[], Path]) -> Callable[[LivingVault], None]:
    """Compare a vault's index with a clean build of the same vault."""

    def compare(vault: LivingVault, settings: Settings | None = None) -> None:
        assert_same_as_clean_build(settings or vault.settings, new_database=new_database, home=new_home())

    return compare
