"""The nightly job: old records, dead rows, worn indexes, and how good the answers are."""

import time

import dagster as dg

from pipelines.assistant import retention
from pipelines.resources.store import Store
from pipelines.storage import generations, maintenance

_DAY = 86_400.0
_BATCH = 500
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


@dg.op(out=dg.Out(dg.Nothing), description="Forget old runs, of Dagster's and of the ledger, and old conversations.")
def purge_records(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    days = store.settings.record_days
    with store.database.connect() as connection:
        rows = maintenance.purge_ledger(connection, days=days)
    runs = delete_old_runs(context.instance, before=time.time() - days * _DAY)
    context.log.info(f"{runs} runs and {rows} rows of the ledger were older than {days} days")
    gone = retention.forget(store.database, store.settings)
    context.log.info(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in gone.items()) + " were let go")


@dg.op(
    ins={"after": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    description="Rebuild vector indexes that many deletions have worn, vacuum and analyze.",
)
def clean_database(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    figures = maintenance.clean(store.database, store.settings)
    context.log_event(dg.AssetObservation("live_index", metadata=dict(figures)))


@dg.op(ins={"after": dg.In(dg.Nothing)}, description="Measure retrieval on GOLDEN_SET, if it is set.")
def measure_quality(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    golden = store.settings.golden_set
    if golden is None:
        context.log.info("GOLDEN_SET is not set: nothing is measured")
        return
    with store.database.connect() as connection:
        if generations.active_generation(connection) is None:
            context.log.info("nothing is indexed yet")
            return
    from pipelines.retrieval import history

    measured, _ = history.measure(store.database, store.settings, golden)
    figures = {f"quality {name}": float(value) for name, value in measured.summary().items()}
    plot = dg.MetadataValue.md(history.plot(measured))
    context.log_event(
        dg.AssetObservation("live_index", metadata={**figures, "generation": measured.generation, "quality": plot})
    )


@dg.job(
    name="upkeep",
    executor_def=dg.in_process_executor,
    description="Retention, vacuum, vector indexes, and the quality of answers as plots on live_index.",
)
def UPKEEP() -> None:  # noqa: N802  # a job is a constant, as the others are
    measure_quality(clean_database(purge_records()))


def delete_old_runs(instance: dg.DagsterInstance, *, before: float) -> int:
    """Delete Dagster's records of runs that ended before a time. What assets and partitions show stays."""
    import datetime

    limit = datetime.datetime.fromtimestamp(before, datetime.UTC)
    deleted = 0
    while records := instance.get_run_records(
        dg.RunsFilter(statuses=_ENDED, created_before=limit), limit=_BATCH, ascending=True
    ):
        for record in records:
            instance.delete_run(record.dagster_run.run_id)
        deleted += len(records)
    return deleted
