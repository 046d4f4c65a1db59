"""Jobs of a migration: build what is wanted, promote, roll back, retire."""

import dagster as dg
from pydantic import Field

from pipelines.generations import promotion
from pipelines.resources.store import Store

REINDEX = dg.define_asset_job(
    "reindex",
    selection=dg.AssetSelection.assets("embeddings", "knowledge", "live_index"),
    config={
        "ops": {
            "embeddings": {"config": {"scope": "BUILD"}},
            "knowledge": {"config": {"scope": "BUILD"}},
        }
    },
    description="Build the generation of the wanted model beside the one that serves, for the folders of the run. "
    "Nothing is read, parsed or chunked again; when the last folder is done, live_index promotes it.",
    executor_def=dg.in_process_executor,
)

PROMOTE = dg.define_asset_job(
    "promote",
    selection=dg.AssetSelection.assets("live_index"),
    description="Ask the gate, and let search read the wanted generation (or the one that the configuration names).",
    executor_def=dg.in_process_executor,
)


class RollBackConfig(dg.Config):
    """Which previous generation to go back to; 0 is the one that was active before."""

    generation: int = Field(default=0, ge=0)
    allow_lag: bool = Field(default=False, description="Go back even if it lacks documents that were written since.")


class RetireConfig(dg.Config):
    """Which generation to drop."""

    generation: int = Field(gt=0)


@dg.op(description="Let search read the previous generation again.")
def roll_back_generation(
    context: dg.OpExecutionContext, config: RollBackConfig, store: dg.ResourceParam[Store]
) -> None:
    switch = promotion.roll_back(store.database, config.generation or None, allow_lag=config.allow_lag, by="dagster")
    left = switch.left.id if switch.left else None
    context.log.info(f"generation {switch.entered.id} ({switch.entered.model}) is active again")
    context.log_event(
        dg.AssetObservation(
            "live_index",
            metadata={
                "generation": switch.entered.id,
                "left": left if left is not None else "none",
                "switch_milliseconds": round(switch.seconds * 1000, 2),
            },
        )
    )


@dg.op(description="Drop a generation's table.")
def retire_generation(context: dg.OpExecutionContext, config: RetireConfig, store: dg.ResourceParam[Store]) -> None:
    retired = promotion.retire(store.database, config.generation, by="dagster")
    context.log.info(f"generation {config.generation} is retired: {retired.bytes / 1e6:.1f} MB are free again")
    context.log_event(
        dg.AssetObservation(
            "live_index",
            metadata={"retired": config.generation, "freed_bytes": retired.bytes, "chunks": retired.chunks},
        )
    )


@dg.job(name="rollback", executor_def=dg.in_process_executor, description="Go back to the previous generation at once.")
def ROLLBACK() -> None:  # noqa: N802  # a job is a constant, as the others are
    roll_back_generation()


@dg.job(name="retire", executor_def=dg.in_process_executor, description="Drop a generation and say what space it took.")
def RETIRE() -> None:  # noqa: N802
    retire_generation()
