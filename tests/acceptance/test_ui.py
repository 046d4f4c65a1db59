"""The Dagster UI as `make ui` starts it: graph, checks, tables, and runs started by clicks that do their work."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from pipelines.storage import server
from tests.acceptance.conftest import ARTIFACTS, REPOSITORY, free_ports, shell, starting, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)]

ON = {"vault": "RUNNING", "git": "RUNNING", "finish": "RUNNING"}
ASSETS = ("raw_files", "parsed_text", "chunks", "embeddings", "knowledge", "live_index")
PATIENCE = 60_000
"""Milliseconds for what a loaded machine shows late."""


@dataclass
class Ui:
    """A running UI: where it is, and what it shows."""

    address: str
    home: Path
    vault: Path
    process: "subprocess.Popen[bytes]"

    def ask(self, query: str, **variables: object) -> Any:
        """A question to the interface that the UI's own pages use."""
        answer = httpx.post(f"{self.address}/graphql", json={"query": query, "variables": variables}, timeout=60).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def runs_of_backfills(self) -> list[dict[str, Any]]:
        found = self.ask("{ runsOrError { ... on Runs { results { runId status tags { key value } } } } }")
        runs = found["runsOrError"]["results"]
        for run in runs:
            run["tags"] = {tag["key"]: tag["value"] for tag in run["tags"]}
        return [run for run in runs if "dagster/backfill" in run["tags"]]


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """The example vault, indexed, with one file that cannot be read; then what `make ui` runs."""
    home, folder, port = Path(tempfile.mkdtemp(prefix="vl-")), tmp_path_factory.mktemp("ui"), free_ports(1)[0]
    vault = shutil.copytree(REPOSITORY / "examples" / "vault", folder / "vault")
    (vault / "runbooks" / "Broken scan.pdf").write_bytes(b"this is no PDF")
    environment = shell(home, vault)
    try:
        synced = subprocess.run(["vaultline", "sync"], env=environment, cwd=folder, capture_output=True, text=True)
        assert synced.returncode == 3, f"3: done, but something is in quarantine\n{synced.stderr}"
        with starting(environment, folder) as start:
            process = start("dagster", "dev", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", str(port))
            address = f"http://127.0.0.1:{port}"
            wait_for(lambda: httpx.get(f"{address}/server_info").is_success, seconds=120, process=process)
            yield Ui(address, home, vault, process)
    finally:
        server.stop(home)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def _keep(page: Page, name: str) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")


def test_the_graph_renders_and_a_backfill_of_two_folders_indexes_an_edit(ui: Ui, page: Page) -> None:
    page.goto(f"{ui.address}/asset-groups")
    for asset in ASSETS:
        expect(page.get_by_text(asset, exact=True).first).to_be_visible(timeout=PATIENCE)
    _keep(page, "asset-graph")

    (ui.vault / "adr" / "0099 Quokkas.md").write_text(
        "# Quokkas\n\nQuokkas are herbivorous macropods.\n", encoding="utf-8"
    )
    page.get_by_role("button", name="Materialize all").click()
    page.get_by_text("Select a partition or create one").click()
    for folder in ("adr", "conventions"):
        page.get_by_role("menuitem").filter(has_text=folder).click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("2 partitions")).to_be_visible(timeout=PATIENCE)
    _keep(page, "backfill-dialog")
    page.get_by_role("button", name="Launch backfill").click()

    (run,) = wait_for(lambda: _succeeded(ui.runs_of_backfills()), seconds=180, process=ui.process)  # type: ignore[misc]
    tags = run["tags"]
    assert tags["dagster/asset_partition_range_start"] == "adr"
    assert tags["dagster/asset_partition_range_end"] == "conventions", "one run for both folders"
    assert _indexed(ui.home, "adr/0099 Quokkas.md")

    page.goto(f"{ui.address}/runs/b/{tags['dagster/backfill']}")
    for folder in ("adr", "conventions"):
        expect(page.get_by_text(folder, exact=True).first).to_be_visible(timeout=PATIENCE)
    _keep(page, "backfill")

    page.goto(f"{ui.address}/runs/{run['runId']}")
    page.get_by_placeholder("Filter").last.fill("raw_files: ")
    expect(page.get_by_text(re.compile(r"raw_files: .*\d+ seen \([\d.]+ s\)")).first).to_be_visible(timeout=PATIENCE)
    _keep(page, "run-log")


def _succeeded(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Backfills' runs of folders that have succeeded; the run of what has no folders comes after them."""
    assert all(run["status"] != "FAILURE" for run in runs), runs
    of_folders = [run for run in runs if "dagster/asset_partition_range_start" in run["tags"]]
    return of_folders if all(run["status"] == "SUCCESS" for run in of_folders) else []


def test_a_failed_document_is_two_clicks_from_the_graph(ui: Ui, page: Page) -> None:
    page.goto(f"{ui.address}/assets/parsed_text")
    page.get_by_role("tab", name="Checks").or_(page.get_by_role("link", name="Checks")).first.click()
    expect(page.get_by_text("runbooks/Broken scan.pdf").first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("not a PDF: it does not begin with %PDF-").first).to_be_visible(timeout=PATIENCE)
    _keep(page, "failed-document")


def test_the_assets_show_their_checks_last_changes_and_plots(ui: Ui, page: Page) -> None:
    page.goto(f"{ui.address}/assets/live_index?view=checks")
    for check in ("consistent_index", "wanted_model", "gate_complete"):
        expect(page.get_by_text(check, exact=True).first).to_be_visible(timeout=PATIENCE)
    page.goto(f"{ui.address}/assets/knowledge?view=checks")
    expect(page.get_by_text("complete_coverage", exact=True).first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("pending by folder").first).to_be_visible(timeout=PATIENCE)

    page.goto(f"{ui.address}/assets/raw_files?view=partitions&partition=glossary")
    expect(page.get_by_text("last changes").first).to_be_visible(timeout=PATIENCE)
    page.goto(f"{ui.address}/assets/raw_files")
    page.get_by_text("Plots", exact=True).first.click()
    expect(page.locator("canvas").first).to_be_visible(timeout=PATIENCE)
    _keep(page, "plots")


def test_sensors_and_schedules_are_on_and_tick(ui: Ui, page: Page) -> None:
    page.goto(f"{ui.address}/automation")
    for name in ("vault", "git", "finish", "nightly_full_hash", "nightly_upkeep"):
        expect(page.get_by_text(name, exact=True).first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(5, timeout=PATIENCE)
    _keep(page, "automation")
    state = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
        sensors { name sensorState { status ticks(limit: 1) { status } } }
        schedules { name scheduleState { status } } } } } }"""
    (repository,) = ui.ask(state)["repositoriesOrError"]["nodes"]
    sensors = {sensor["name"]: sensor["sensorState"] for sensor in repository["sensors"]}
    assert {name: told["status"] for name, told in sensors.items()} == dict.fromkeys(
        ("vault", "git", "finish"), "RUNNING"
    )
    assert all(schedule["scheduleState"]["status"] == "RUNNING" for schedule in repository["schedules"])
    assert sensors["vault"]["ticks"], "the daemon evaluates it"
    assert all(tick["status"] != "FAILURE" for told in sensors.values() for tick in told["ticks"])


def _indexed(home: Path, source: str) -> bool:
    url = server.status(home).url
    assert url is not None
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT FROM knowledge WHERE source = %s", (source,)).fetchone() is not None
