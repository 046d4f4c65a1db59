"""The Dagster UI as `make ui` starts it: the graph is there, and a run started by a click does its work."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, expect

from pipelines.storage import server
from tests.acceptance.conftest import ARTIFACTS, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ASSETS = ("raw_files", "parsed_text", "chunks", "embeddings", "knowledge", "live_index")


def test_the_graph_renders_and_a_run_started_by_a_click_indexes_the_edit(
    start: Callable[..., subprocess.Popen[bytes]],
    run: Callable[..., subprocess.CompletedProcess[str]],
    free_port: int,
    browser: Browser,
    vault: Path,
    home: Path,
) -> None:
    run("vaultline", "sync")
    process = start("dagster", "dev", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", str(free_port))
    address = f"http://127.0.0.1:{free_port}"
    wait_for(lambda: httpx.get(f"{address}/server_info").is_success, seconds=90, process=process)

    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.goto(f"{address}/asset-groups")
    for asset in ASSETS:
        expect(page.get_by_text(asset, exact=True).first).to_be_visible(timeout=60_000)
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / "asset-graph.png")

    (vault / "adr" / "0099 Quokkas.md").write_text(
        "# Quokkas\n\nQuokkas are herbivorous macropods.\n", encoding="utf-8"
    )
    page.get_by_role("button", name="Materialize all").click()
    page.get_by_role("button", name="All", exact=True).click(timeout=60_000)
    page.screenshot(path=ARTIFACTS / "materialize-dialog.png")
    page.get_by_role("button", name="Launch backfill").click()
    wait_for(lambda: _indexed(home, "adr/0099 Quokkas.md"), seconds=180, process=process)
    page.screenshot(path=ARTIFACTS / "after-launch.png")


def _indexed(home: Path, source: str) -> bool:
    url = server.status(home).url
    assert url is not None
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT FROM knowledge WHERE source = %s", (source,)).fetchone() is not None
