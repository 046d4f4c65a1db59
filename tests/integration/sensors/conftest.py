"""Sensors as the daemon ticks them: tick, then execute what was requested, in this process."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData

from pipelines.dagster_home import open_instance
from pipelines.definitions import build
from pipelines.partitions import FOLDERS
from pipelines.resources.store import Store
from pipelines.settings import Settings
from tests.integration.sync.conftest import converged, dagster_template, new_database, new_home, vault
from tests.integration.sync.living_vault import LivingVault

__all__ = ["converged", "dagster_template", "new_database", "new_home", "vault"]


_CHANGES = {"ops": {name: {"config": {"scope": "CHANGES"}} for name in ("embeddings", "knowledge")}}
_SILENT = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class Daemon:
    """What Dagster's daemon does with one sensor, without its intervals."""

    settings: Settings
    instance: dg.DagsterInstance
    sensor: str = "vault"
    cursor: str | None = None
    ran: list[dg.ExecuteInProcessResult] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.definitions = build(self.settings)

    def tick(self) -> SensorExecutionData:
        """One evaluation; keeps the cursor as the daemon does."""
        with dg.build_sensor_context(
            instance_ref=self.instance.get_ref(),
            cursor=self.cursor,
            definitions=self.definitions,
            sensor_name=self.sensor,
            resources={"store": Store(self.settings)},
        ) as context:
            told = self.definitions.get_repository_def().get_sensor_def(self.sensor).evaluate_tick(context)
        self.cursor = told.cursor
        return told

    def run(self, request: dg.RunRequest, *, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
        """Execute one request."""
        job = self.definitions.resolve_job_def(request.job_name or "index")
        key = request.partition_key
        tags = {name: value for name, value in request.tags.items() if name != "dagster/partition"}
        result = job.execute_in_process(
            instance=self.instance,
            partition_key=key,
            tags=tags,
            run_config={**(request.run_config or _CHANGES if job.name == "index" else {}), **_SILENT},
            raise_on_error=raise_on_error,
        )
        self.ran.append(result)
        return result

    def settle(self, *, ticks: int = 6) -> list[dg.ExecuteInProcessResult]:
        """Tick and run until a tick asks for nothing; returns the runs."""
        before = len(self.ran)
        for _ in range(ticks):
            told = self.tick()
            if not told.run_requests:
                return self.ran[before:]
            for request in told.run_requests:
                self.run(request)
        raise AssertionError(f"still asking after {ticks} ticks")

    @property
    def partitions(self) -> set[str]:
        return set(self.instance.get_dynamic_partitions(str(FOLDERS.name)))


@pytest.fixture
def daemon(vault: LivingVault) -> Iterator[Daemon]:
    """A daemon on the test's vault. Saves count as complete after a tenth of a second."""
    settings = vault.with_settings(vault_quiet_seconds=0.1)
    with open_instance(settings) as instance:
        yield Daemon(settings, instance)
