"""Tell a chat of failed runs: a run failure sensor for a code location of your own, beside Vaultline's.

    dagster dev -m pipelines.definitions -f examples/dagster/failures.py

FAILURE_WEBHOOK is the address of the chat's incoming webhook. Messages name the run and its error, never note text.
"""

import os

import dagster as dg
import httpx


@dg.run_failure_sensor(default_status=dg.DefaultSensorStatus.RUNNING, monitor_all_code_locations=True)
def tell_of_failures(context: dg.RunFailureSensorContext) -> None:
    """Post one line for each failed run."""
    run = context.dagster_run
    words = context.failure_event.message.splitlines()[0] if context.failure_event.message else "failed"
    httpx.post(
        os.environ["FAILURE_WEBHOOK"],
        json={
            "text": f"{run.job_name} {run.run_id[:8]} ({run.tags.get('dagster/partition', 'many folders')}): {words}"
        },
        timeout=10,
    ).raise_for_status()


defs = dg.Definitions(sensors=[tell_of_failures])
