"""Retries: a stage that met a transient fault is tried again by Dagster, visibly; any other fault fails at once."""

from collections.abc import Iterator

import dagster as dg
import pytest
from pydantic import SecretStr

from pipelines.assets import stage
from pipelines.dagster_home import open_instance
from tests.integration.sensors.conftest import Daemon
from tests.integration.sync.living_vault import LivingVault, backdate, note
from tests.servers.embedding_api import Answer, EmbeddingApi, Fault

KEY = "pa-test-key"


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi(flavour="openai", key=KEY, dimensions=64).running() as api:
        yield api


@pytest.fixture
def hosted(vault: LivingVault, api: EmbeddingApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """A daemon on one note that was indexed and edited; its model is a server whose client asks once and no more."""
    monkeypatch.setattr(stage, "_RETRY_SECONDS", 0.05)
    backdate([vault.write("a/n0.md", note("Note", "One text."))])
    settings = vault.with_settings(
        embedding_model="openai/local",
        embedding_base_url=api.url,
        embedding_api_key=SecretStr(KEY),
        embedding_patience_seconds=0.0,
        vault_quiet_seconds=0.1,
    )
    with open_instance(settings) as instance:
        daemon = Daemon(settings, instance)
        daemon.settle()
        vault.write("a/n0.md", note("Note", "Another text."))
        yield daemon


def _retried(daemon: Daemon, run_id: str) -> list[str]:
    """Steps that the UI shows as up for retry."""
    records = daemon.instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_UP_FOR_RETRY).records
    return [str(record.event_log_entry.step_key) for record in records]


def test_a_provider_that_comes_back_costs_a_retry_of_its_stage(
    vault: LivingVault, hosted: Daemon, api: EmbeddingApi
) -> None:
    (request,) = hosted.tick().run_requests
    api.faults.append(Fault(status=503))
    result = hosted.run(request)
    assert result.success
    assert _retried(hosted, result.run_id) == ["embeddings"], "what came before is not done again"
    assert vault.found("Another text") == ["a/n0.md"]


def test_a_provider_that_stays_away_fails_the_run_after_three_tries(hosted: Daemon, api: EmbeddingApi) -> None:
    (request,) = hosted.tick().run_requests
    api.always = Fault(status=503)
    result = hosted.run(request, raise_on_error=False)
    assert not result.success
    assert _retried(hosted, result.run_id) == ["embeddings"] * 2
    assert "its last run failed" in str(hosted.tick().skip_message), "then the sensor waits"


def test_a_wrong_key_is_not_tried_again(hosted: Daemon, api: EmbeddingApi) -> None:
    (request,) = hosted.tick().run_requests
    api.key = "another"
    result = hosted.run(request, raise_on_error=False)
    assert not result.success
    assert _retried(hosted, result.run_id) == []
    assert all(KEY not in str(event) for event in hosted.instance.all_logs(result.run_id))


def test_a_database_that_drops_the_connection_costs_a_retry(
    vault: LivingVault, hosted: Daemon, api: EmbeddingApi
) -> None:
    """As when Postgres is restarted in the middle of a run."""
    (request,) = hosted.tick().run_requests

    def cut(answer: Answer) -> Answer:
        vault.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return answer

    api.faults.append(Fault(change=cut))
    result = hosted.run(request)
    assert result.success
    assert set(_retried(hosted, result.run_id)) <= {"embeddings"}
    assert vault.found("Another text") == ["a/n0.md"]


def test_who_waits_for_a_run_decides_by_itself(vault: LivingVault, hosted: Daemon, api: EmbeddingApi) -> None:
    """`vaultline sync` fails soon and says why; its next call goes on."""
    (request,) = hosted.tick().run_requests
    api.always = Fault(status=503)
    request = request.with_replaced_attrs(tags={**request.tags, "vaultline/started_by": "sync"})
    result = hosted.run(request, raise_on_error=False)
    assert not result.success
    assert _retried(hosted, result.run_id) == []
