"""One process lives on while its database goes, comes back, or hangs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.sync import sync
from tests.integration.serving.conftest import QUESTION, Library, fill, running_server, wait_until


def _search(url: str, **parameters: str) -> httpx.Response:
    return httpx.get(f"{url}/api/search", params={"q": QUESTION, **parameters}, timeout=60)


def test_connections_that_were_cut_cost_no_request(library: Library, served: str) -> None:
    assert library.settings.database_url is not None
    assert _search(served).status_code == 200
    with psycopg.connect(library.settings.database_url.get_secret_value(), autocommit=True) as connection:
        for _ in range(3):
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert _search(served).json()["answered"] is True


def test_a_connection_that_is_cut_in_the_middle_of_a_search_costs_nothing_either(library: Library, served: str) -> None:
    assert library.settings.database_url is not None
    url = library.settings.database_url.get_secret_value()
    assert _search(served).status_code == 200
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as watcher, ThreadPoolExecutor() as pool:
        holder.execute("LOCK TABLE generation IN ACCESS EXCLUSIVE MODE")
        waiting = pool.submit(_search, served)
        blocked = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'"
        )
        wait_until(lambda: watcher.execute(blocked).fetchone() == (True,))
        holder.rollback()
        assert waiting.result().json()["answered"] is True


@pytest.mark.slow
def test_the_same_process_outlives_a_restart_of_its_database(short_home: Path, tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    fill(root)
    settings = Settings.load(
        _env_file=None, vault_path=root, vaultline_home=short_home, embedding_model="fake/asymmetric-64"
    )
    sync(settings)
    here = Library(
        settings.model_copy(
            update={
                "database_url": Settings.load(
                    _env_file=None, database_url=Database.from_settings(settings).url
                ).database_url
            }
        ),
        root,
    )
    with running_server(here.environment | {"EMBEDDING_FAKE_LOG": ""}, tmp_path / "log") as url:
        assert _search(url).json()["answered"] is True
        server.stop(short_home)
        for _ in range(2):
            response = _search(url)
            assert response.status_code == 503
            assert response.headers["retry-after"]
            assert response.json()["code"] == "database_unavailable"
            assert "postgres" not in response.text
        health = httpx.get(f"{url}/api/health", timeout=60)
        assert health.status_code == 503
        assert health.json()["components"]["database"]["status"] == "unhealthy"
        server.start(short_home)
        assert _search(url).json()["answered"] is True
        assert httpx.get(f"{url}/api/health", timeout=60).json()["status"] == "healthy"
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_server_starts_without_its_database_and_says_so(tmp_path: Path) -> None:
    settings = Settings.load(
        _env_file=None,
        vaultline_home=tmp_path,
        database_url="postgresql://nobody:hunter2@127.0.0.1:9/none",
        embedding_model="fake/asymmetric-64",
    )
    library = Library(settings, tmp_path)
    with running_server(library.environment | {"EMBEDDING_FAKE_LOG": ""}, tmp_path / "log") as url:
        assert httpx.get(url).status_code == 200
        assert _search(url).status_code == 503
        assert httpx.get(f"{url}/api/health", timeout=60).json()["status"] == "unhealthy"
    assert "hunter2" not in (tmp_path / "log").read_text()


def test_nothing_indexed_is_no_answer_but_a_problem(database: Database, settings: Settings, tmp_path: Path) -> None:
    library = Library(settings, tmp_path)
    with running_server(library.environment | {"EMBEDDING_FAKE_LOG": ""}, tmp_path / "log") as url:
        response = _search(url)
        assert (response.status_code, response.json()["code"]) == (503, "not_indexed")
        report = httpx.get(f"{url}/api/health", timeout=60)
        assert (report.status_code, report.json()["components"]["index"]["status"]) == (503, "unhealthy")


def test_more_than_it_can_do_and_longer_than_it_may_are_refused(library: Library, tmp_path: Path) -> None:
    assert library.settings.database_url is not None
    environment = library.environment | {"SERVING_CONCURRENCY": "2", "SERVING_TIMEOUT_SECONDS": "2"}
    with running_server(environment, tmp_path / "log") as url, ThreadPoolExecutor(4) as pool:
        wait_until(lambda: _search(url).status_code == 200)
        with psycopg.connect(library.settings.database_url.get_secret_value()) as connection:
            connection.execute("LOCK TABLE generation IN ACCESS EXCLUSIVE MODE")
            statuses = sorted(response.status_code for response in pool.map(lambda _: _search(url), range(4)))
            assert statuses == [503, 503, 504, 504]
            connection.rollback()
        wait_until(lambda: _search(url).status_code == 200)
