"""What all stages share: timing, the ledger, and metadata on every materialization."""

import contextlib
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import dagster as dg

from pipelines.errors import DatabaseError, DocumentError, Transient, VaultlineError
from pipelines.figures import Work
from pipelines.resources.store import Store
from pipelines.run_process import TAG, this_process
from pipelines.storage import ledger

GROUP = "knowledge_base"
OWNERS = ["team:knowledge"]
BATCH = 64
"""Documents a transaction: a killed run loses at most this many documents' work of a stage."""

_RETRIES, _RETRY_SECONDS = 2, 10.0
"""Of a stage that met a transient fault: a restarted database, a provider that was busy. Other faults fail at once."""

_OWN_PATIENCE = ("sync", "watch")
"""Who waits for the run and decides by itself when to try again."""


@contextmanager
def stage(context: dg.AssetExecutionContext, store: Store, name: str, *, figures: Sequence[str]) -> Iterator[Work]:
    """Run a stage over the run's folders; at the end write the ledger and the metadata.

    `figures` are named in the metadata also when they are 0, so that their plots have no holes. Raises dg.Failure if
    the run selects no folder: a stale or reversed range would otherwise succeed and do nothing.
    """
    folders = list(context.partition_keys) if context.assets_def.partitions_def is not None else []
    if context.assets_def.partitions_def is not None and not folders:
        raise dg.Failure("the run's range of folders is empty: start it again from the folders that exist now")
    process = this_process()
    if context.run.tags.get(TAG) != process[TAG]:  # none, or that of a run which this one repeats
        context.instance.add_run_tags(context.run.run_id, process)
    work = Work(folders)
    started = time.monotonic()
    try:
        yield work
    except VaultlineError as error:
        if isinstance(error, Transient) and context.run.tags.get("vaultline/started_by") not in _OWN_PATIENCE:
            raise dg.RetryRequested(max_retries=_RETRIES, seconds_to_wait=_RETRY_SECONDS) from error
        raise
    finally:  # also of a stage that failed: what it computed and paid for is kept, and counts
        seconds = round(time.monotonic() - started, 3)
        filled = {figure: work.total[figure] for figure in {*figures, *work.total}}
        noted: dict[str, float] = {**filled, **work.extra}
        with contextlib.suppress(DatabaseError), store.database.connect() as connection:
            run = context.run.run_id
            ledger.record(connection, run=run, stage=name, folders=folders, figures=noted, seconds=seconds)
    told = ", ".join(f"{value} {figure}" for figure, value in sorted(filled.items()) if value) or "nothing to do"
    context.log.info(f"{name}: {told} ({seconds} s)")
    of_run = {
        "run seconds": seconds,
        **_rate(filled, seconds),
        **{f"run {name}": value for name, value in work.extra.items()},
    }
    if not folders:
        context.add_asset_metadata({**filled, **of_run})
    for folder in folders:
        own = work.by_folder.get(folder, Counter())
        named = {"last changes": _table(work.told[folder])} if folder in work.told else {}
        context.add_asset_metadata(
            {**{figure: own[figure] for figure in sorted({*figures, *own})}, **of_run, **named}, partition_key=folder
        )


def _table(rows: Collection[Mapping[str, str | int]]) -> dg.TableMetadataValue:
    columns = dict.fromkeys(name for row in rows for name in row)  # Dagster wants the same ones of every record
    return dg.MetadataValue.table([dg.TableRecord({name: row.get(name, "") for name in columns}) for row in rows])


@contextmanager
def one_document(what: str) -> Iterator[None]:
    """Make a fault of our own code cost one document, not the run: anything it raises becomes a DocumentError."""
    try:
        yield
    except DocumentError:
        raise
    except Exception as error:
        raise DocumentError(f"the {what} failed ({type(error).__name__}), which is a fault of Vaultline's") from error


def _rate(figures: dict[str, int], seconds: float) -> dict[str, float]:
    done = figures.get("embedded") or figures.get("chunks") or figures.get("parsed")
    return {"run rate per second": round(done / seconds, 1)} if done and seconds > 0 else {}
