"""Dagster's own commands run the same assets and write the same rows; its checks pass and fail when they should."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from pipelines.checks import CHECKS
from pipelines.dagster_home import open_instance
from pipelines.definitions import build
from pipelines.partitions import FOLDERS
from pipelines.resources.store import Store
from tests.convergence import dump
from tests.integration.sync.living_vault import LivingVault, environment, note

Converged = Callable[[LivingVault], None]
BIN = Path(sys.executable).parent
PROJECT = Path(__file__).resolve().parents[3]


def _run(vault: LivingVault, *command: str) -> str:
    """Run one of Dagster's commands with what `vaultline env` prints."""
    own = environment(vault.settings)
    lines = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "env"], env=own, capture_output=True, text=True, check=True
    ).stdout
    exported = dict(re.findall(r"^export (\w+)=(.*)$", lines, re.MULTILINE))
    assert set(exported) == {"DAGSTER_HOME", "VAULTLINE_HOME"}
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], env=own | exported, cwd=PROJECT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def _fill(vault: LivingVault) -> None:
    for folder in ("a", "b", "c, d"):
        for number in range(3):
            vault.write(f"{folder}/n{number}.md", note(f"Note {number} of {folder}", f"Text {number} in {folder}."))
    with open_instance(vault.settings) as instance:
        instance.add_dynamic_partitions(str(FOLDERS.name), ["a", "b", "c%2C%20d"])


@pytest.mark.slow
def test_the_same_rows_by_every_command(vault: LivingVault, converged: Converged) -> None:
    _fill(vault)
    _run(vault, "dagster", "asset", "materialize", "--select", "*", "-m", "pipelines.definitions", "--partition", "a")
    assert vault.sources() == ["a/n0.md", "a/n1.md", "a/n2.md"]
    _run(vault, "dg", "launch", "--assets", "*", "--partition", "c%2C%20d")
    assert len(vault.sources()) == 6
    vault.write("a/n0.md", note("Edited", "Edited in a."))
    vault.remove("c, d/n0.md")
    _run(vault, "dg", "launch", "--assets", "*", "--partition-range", "a...c%2C%20d")
    assert vault.found("Edited in a") == ["a/n0.md"]
    assert vault.sync(dry_run=True).folders == ()
    converged(vault)


@pytest.fixture
def synced(vault: LivingVault) -> LivingVault:
    _fill(vault)
    vault.sync()
    return vault


def _checks(vault: LivingVault) -> dict[str, dg.AssetCheckEvaluation]:
    """Run the asset checks that stand by themselves; returns their evaluations by name."""
    whole = build(vault.settings, store=Store(vault.settings))
    job = dg.define_asset_job("checks", selection=dg.AssetSelection.checks(*CHECKS))
    resolved = dg.Definitions(
        assets=whole.assets, asset_checks=CHECKS, jobs=[job], resources=whole.resources
    ).resolve_job_def("checks")
    with open_instance(vault.settings) as instance:
        result = resolved.execute_in_process(instance=instance, raise_on_error=False)
    return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}


def test_checks_pass_on_a_healthy_index(synced: LivingVault) -> None:
    found = _checks(synced)
    assert {"no_quarantine", "complete_coverage", "consistent_index", "wanted_model", "good_answers"} <= set(found)
    assert all(evaluation.passed for evaluation in found.values()), found


def test_checks_fail_on_what_is_wrong(synced: LivingVault) -> None:
    def failing() -> set[str]:
        return {name for name, evaluation in _checks(synced).items() if not evaluation.passed}

    faults = {
        "a vector is missing": "UPDATE knowledge_g1 SET embedding = NULL WHERE id = 1",
        "a vector is zero": "UPDATE knowledge_g1 SET embedding = array_fill(0, ARRAY[64])::vector WHERE id = 1",
        "a row is missing": "DELETE FROM knowledge_g1 WHERE id = 2",
        "a row is of another text": "UPDATE knowledge_g1 SET text_hash = 'x' WHERE id = 3",
        "a row is of another file": "UPDATE knowledge_g1 SET source = 'nowhere.md' WHERE id = 4",
    }
    for fault, statement in faults.items():
        synced.execute("CREATE TABLE saved AS SELECT * FROM knowledge_g1")
        synced.execute(statement)
        assert failing() == {"consistent_index"}, fault
        synced.execute("DELETE FROM knowledge_g1")
        synced.execute("INSERT INTO knowledge_g1 OVERRIDING SYSTEM VALUE SELECT * FROM saved")
        synced.execute("DROP TABLE saved")
    assert failing() == set()
    synced.execute("UPDATE document SET revision = nextval('document_revision') WHERE source = 'b/n1.md'")
    assert failing() == {"complete_coverage"}
    os.mkfifo(synced.path("a/pipe.md"))
    synced.sync()
    assert failing() == {"no_quarantine"}


def test_every_materialization_tells_its_figures_and_no_text(synced: LivingVault) -> None:
    with open_instance(synced.settings) as instance:
        for asset in ("raw_files", "parsed_text", "chunks", "embeddings", "knowledge", "live_index"):
            event = instance.get_latest_materialization_event(dg.AssetKey(asset))
            assert event is not None
            materialization = event.asset_materialization
            assert materialization is not None
            metadata = materialization.metadata
            assert "run seconds" in metadata, asset
            assert all("Text 1 in" not in str(value.value) for value in metadata.values()), asset
        assert set(instance.get_materialized_partitions(dg.AssetKey("chunks"))) == {"a", "b", "c%2C%20d"}


def _metadata(vault: LivingVault, asset: str, folder: str) -> dict[str, dg.MetadataValue]:  # type: ignore[type-arg]
    """What the UI shows of the latest materialization of a folder."""
    with open_instance(vault.settings) as instance:
        wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[folder])
        (record,) = instance.fetch_materializations(wanted, limit=1).records
    materialization = record.asset_materialization
    assert materialization is not None
    return dict(materialization.metadata)


def _rows(value: object) -> list[dict[str, object]]:
    assert isinstance(value, dg.TableMetadataValue)
    return [dict(record.data) for record in value.records]


def test_materializations_name_the_last_documents_and_give_figures_to_plot(synced: LivingVault) -> None:
    synced.write("a/n0.md", note("Edited", "Edited in a."))
    synced.move("a/n1.md", "a/moved.md")
    synced.remove("a/n2.md")
    synced.write("a/bad.pdf", b"no PDF")
    for number in range(20):
        synced.write(f"b/many{number:02d}.md", note("Many", f"Number {number}."))
    synced.sync()
    changes = {row["source"]: row["change"] for row in _rows(_metadata(synced, "raw_files", "a")["last changes"])}
    assert changes == {"a/n0.md": "changed", "a/moved.md": "moved", "a/bad.pdf": "added", "a/n2.md": "deleted"}
    assert len(_rows(_metadata(synced, "raw_files", "b")["last changes"])) == 10, "the record of a run stays small"
    problems = {row["source"]: row["problem"] for row in _rows(_metadata(synced, "parsed_text", "a")["last changes"])}
    assert "not a PDF" in str(problems["a/bad.pdf"])
    assert problems["a/n0.md"] == ""
    (edited,) = [r for r in _rows(_metadata(synced, "chunks", "a")["last changes"]) if r["source"] == "a/n0.md"]
    assert edited["passages"] == 1
    for asset in ("raw_files", "parsed_text", "chunks", "embeddings", "knowledge"):
        metadata = _metadata(synced, asset, "a")
        numbers = [v for v in metadata.values() if isinstance(v, dg.IntMetadataValue | dg.FloatMetadataValue)]
        assert len(numbers) >= 3, asset
        assert "Edited in a" not in str(metadata), "names, but no text"


def test_a_check_says_that_search_reads_another_model_than_the_wanted_one(synced: LivingVault) -> None:
    assert _checks(synced)["wanted_model"].passed
    later = LivingVault(synced.with_settings(embedding_model="fake/other-32"), synced.database)
    told = _checks(later)["wanted_model"]
    assert not told.passed
    assert told.severity == dg.AssetCheckSeverity.WARN, "search works on"
    assert told.description == "search reads fake/test-64 until fake/other-32 is built and promoted"


def test_an_empty_range_is_a_failure_not_a_success(synced: LivingVault) -> None:
    """A reversed range selects nothing; Dagster by itself would call that a success."""
    job = build(synced.settings, store=Store(synced.settings)).resolve_job_def("index")
    tags = {"dagster/asset_partition_range_start": "c%2C%20d", "dagster/asset_partition_range_end": "a"}
    with open_instance(synced.settings) as instance:
        result = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)
    assert not result.success


def test_nothing_changes_for_who_only_looks(synced: LivingVault) -> None:
    with synced.database.connect() as connection:
        before = dump(connection)
    synced.sync(dry_run=True)
    synced.write("a/n0.md", note("Edited", "Edited."))
    report = synced.sync(dry_run=True)
    assert report.folders == ("a",)
    assert report.documents["changed"] == 1
    with synced.database.connect() as connection:
        assert dump(connection) == before
