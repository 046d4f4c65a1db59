# ruff: noqa: S608  # table names are numbers of generations
"""A migration as Dagster runs it: sync, jobs, checks on live_index, the sensor that finishes what was left."""

from collections.abc import Iterator

import dagster as dg
import pytest

from pipelines.dagster_home import open_instance
from pipelines.definitions import build
from pipelines.generations import wishes
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.sensors.finish import finish
from tests.integration.generations.conftest import Bench

A, B = "fake/a-64", "fake/b-64"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def synced(bench: Bench) -> Bench:
    bench.fill(4)
    bench.sync(A)
    return bench


@pytest.fixture
def instance(synced: Bench) -> Iterator[dg.DagsterInstance]:
    with open_instance(synced.settings) as instance:
        yield instance


def _tick(bench: Bench, instance: dg.DagsterInstance, model: str) -> dg.SensorResult | dg.SkipReason:
    settings = bench.under(model)
    resources = {"store": Store(settings), "embedder": EmbedderResource(model=model)}
    result = finish(dg.build_sensor_context(instance=instance, resources=resources))
    assert isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def test_the_setting_alone_migrates_at_the_next_sync(synced: Bench) -> None:
    report = synced.sync(B)
    assert report.folders == (), "nothing is read, parsed or chunked"
    assert synced.states() == {A: "previous", B: "active"}
    last = "SELECT stage FROM run_ledger WHERE id > (SELECT max(id) - 3 FROM run_ledger)"
    stages = {row[0] for row in synced.rows(last)}
    assert stages == {"embeddings", "knowledge", "live_index"}
    synced.write("folder0/new.md", "# New\n\nAfter the switch.\n")
    synced.sync(B)
    for generation in (1, 2):
        assert synced.value(f"SELECT count(*) FROM knowledge_g{generation} WHERE source = 'folder0/new.md'") == 1


def test_a_restart_indexes_nothing_again(synced: Bench) -> None:
    """X06, after a migration: the next process finds nothing to do, and writes nothing."""
    synced.sync(B)
    rows = "SELECT xmin::text, ctid::text FROM knowledge_g1 UNION ALL SELECT xmin::text, ctid::text FROM knowledge_g2"
    asked, written = synced.asked(), synced.rows(rows)
    runs = synced.value("SELECT count(*) FROM run_ledger")
    wishes._wish.clear()  # as a new process
    report = synced.sync(B)
    assert report.folders == ()
    assert synced.asked() == asked
    assert synced.rows(rows) == written
    assert synced.value("SELECT count(*) FROM run_ledger") == runs


def test_the_jobs_promote_roll_back_and_retire(synced: Bench, instance: dg.DagsterInstance) -> None:
    synced.sync(B, generation_auto_promote=False)
    definitions = build(synced.under(B, generation_auto_promote=False))

    def run(job: str, **ops: dict[str, object]) -> dg.ExecuteInProcessResult:
        config = {"ops": {name: {"config": value} for name, value in ops.items()}, **QUIET}
        chosen = definitions.resolve_job_def(job)
        return chosen.execute_in_process(instance=instance, run_config=config, raise_on_error=False)

    done = run("promote", live_index={"generation": 2})
    assert done.success
    checks = {item.check_name: item.passed for item in done.get_asset_check_evaluations()}
    assert checks == {f"gate_{name}": True for name in ("complete", "valid", "model", "recall", "quality")} | {
        name: passed for name, passed in checks.items() if not name.startswith("gate_")
    }
    assert synced.states()[B] == "active"
    assert run("rollback", roll_back_generation={}).success
    assert synced.states() == {A: "active", B: "previous"}
    assert run("retire", retire_generation={"generation": 2}).success
    assert synced.states()[B] == "retired"
    assert not run("rollback", roll_back_generation={}).success


def test_a_promotion_by_name_fails_visibly_when_the_gate_does_not_pass(
    synced: Bench, instance: dg.DagsterInstance
) -> None:
    synced.sync(B, generation_auto_promote=False)
    synced.execute("UPDATE knowledge_g2 SET embedding = array_fill(0, ARRAY[64])::vector WHERE id = 1")
    definitions = build(synced.under(B))
    job = definitions.resolve_job_def("promote")
    config = {"ops": {"live_index": {"config": {"generation": 2}}}, **QUIET}
    failed = job.execute_in_process(instance=instance, run_config=config, raise_on_error=False)
    assert not failed.success, "the checks are blocking"
    by_itself = job.execute_in_process(instance=instance, run_config=QUIET, raise_on_error=False)
    assert by_itself.success, "an edit's run has done its work"
    evaluations = {item.check_name: item for item in by_itself.get_asset_check_evaluations()}
    assert not evaluations["gate_valid"].passed
    assert synced.states() == {A: "active", B: "building"}


def test_the_sensor_finishes_what_was_left(synced: Bench, instance: dg.DagsterInstance) -> None:
    assert isinstance(_tick(synced, instance, A), dg.SkipReason)
    (request,) = _requests(_tick(synced, instance, B))
    assert request.job_name == "reindex"
    assert sorted(request.tags.values()) == ["folder0", "folder1"]
    synced.sync(B, generation_auto_promote=False)
    (request,) = _requests(_tick(synced, instance, B))
    assert request.job_name == "promote"
    synced.sync(B)
    assert isinstance(_tick(synced, instance, B), dg.SkipReason)
    synced.execute("UPDATE generation SET left_at = now() - interval '8 days' WHERE state = 'previous'")
    (request,) = _requests(_tick(synced, instance, B))
    assert request.job_name == "promote"


def test_the_fingerprint_is_in_the_code_version(synced: Bench) -> None:
    versions = []
    for model in (A, B):
        graph = build(synced.under(model)).resolve_asset_graph()
        keys = ("chunks", "embeddings", "knowledge")
        versions.append({key: graph.get(dg.AssetKey(key)).code_version for key in keys})
    assert versions[0]["chunks"] == versions[1]["chunks"]
    assert versions[0]["embeddings"] != versions[1]["embeddings"]
    assert versions[0]["knowledge"].endswith(synced.generation(A).fingerprint)


def _requests(result: dg.SensorResult | dg.SkipReason) -> list[dg.RunRequest]:
    assert isinstance(result, dg.SensorResult), result
    return list(result.run_requests or [])
