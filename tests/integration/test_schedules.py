"""What runs at night: full hash, retention, vacuum, quality."""

import datetime
import json
import os
from pathlib import Path

import dagster as dg
import pytest

from pipelines.schedules import nightly_full_hash
from pipelines.storage import maintenance
from pipelines.upkeep_job import delete_old_runs
from tests.integration.sensors.conftest import (
    Daemon,
    converged,
    daemon,
    dagster_template,
    new_database,
    new_home,
    vault,
)
from tests.integration.sync.living_vault import LivingVault, backdate, note

__all__ = ["converged", "daemon", "dagster_template", "new_database", "new_home", "vault"]


def _fill(vault: LivingVault) -> None:
    backdate([vault.write(f"{f}/n{i}.md", note(f"Note {f}{i}", f"Text {f} {i}.")) for f in "ab" for i in range(3)])


def test_the_nightly_hash_finds_a_file_of_the_same_size_and_date(vault: LivingVault, daemon: Daemon) -> None:
    with dg.build_schedule_context(instance=daemon.instance) as context:
        assert isinstance(nightly_full_hash(context), dg.SkipReason)
    _fill(vault)
    daemon.settle()
    path = vault.path("a/n0.md")
    status, text = path.stat(), path.read_text()
    path.write_text(text.replace("Text", "Silk"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert daemon.settle() == [], "its status tells nothing"
    with dg.build_schedule_context(instance=daemon.instance) as context:
        request = nightly_full_hash(context)
    assert isinstance(request, dg.RunRequest)
    daemon.run(request)
    assert vault.found("Silk") == ["a/n0.md"]


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.jsonl"
    questions = [{"question": f"Text a {i}", "locale": "en", "relevant": [{"source": f"a/n{i}.md"}]} for i in range(3)]
    path.write_text("\n".join(map(json.dumps, questions)))
    return path


def test_upkeep_forgets_old_records_cleans_and_measures(vault: LivingVault, daemon: Daemon, golden: Path) -> None:
    _fill(vault)
    daemon.settle()
    keeper = Daemon(daemon.settings.model_copy(update={"golden_set": golden, "record_days": 30}), daemon.instance)
    vault.execute("UPDATE run_ledger SET started_at = now() - interval '40 days' WHERE stage = 'chunks'")
    keeper.run(dg.RunRequest(job_name="upkeep"))
    assert vault.value("SELECT count(*) FROM run_ledger WHERE stage = 'chunks'") == 0
    assert vault.value("SELECT count(*) FROM run_ledger WHERE stage = 'raw_files'") == 1
    observed = daemon.instance.fetch_observations(dg.AssetKey("live_index"), limit=5).records
    names = {name for record in observed for name in record.asset_observation.metadata}  # type: ignore[union-attr]
    assert {"indexes_rebuilt", "bytes"} <= names
    assert any(name.startswith("quality ") for name in names)
    assert "quality" in names, "the plot"
    assert len(vault.sources()) == 6


def test_runs_are_deleted_by_age_and_unfinished_ones_never(vault: LivingVault, daemon: Daemon) -> None:
    job = daemon.definitions.resolve_job_def("index")
    for status in (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.STARTED):
        daemon.instance.create_run_for_job(job, status=status)
    tomorrow = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)).timestamp()
    assert delete_old_runs(daemon.instance, before=tomorrow - 2 * 86_400) == 0
    assert delete_old_runs(daemon.instance, before=tomorrow) == 2
    assert [record.dagster_run.status for record in daemon.instance.get_run_records()] == [dg.DagsterRunStatus.STARTED]


def test_worn_tables_are_seen(vault: LivingVault, daemon: Daemon) -> None:
    _fill(vault)
    daemon.settle()
    figures = maintenance.clean(vault.database, vault.settings)
    assert figures["tables"] == 10
    assert figures["bytes"] > 0
