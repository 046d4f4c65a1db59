"""What `vaultline sync` does: look, decide, and run the assets in this process for the folders that need it."""

import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.assets.upkeep import upkeep
from pipelines.errors import EmbeddingError, ModelChanged, SettingsError, VaultlineError
from pipelines.generations.lifecycle import Due, due
from pipelines.generations.writing import LEAVE_ALONE
from pipelines.intake.look import refresh_dates
from pipelines.intake.plan import Plan, part_of, plan
from pipelines.parsing import ocr
from pipelines.parsing.options import ParseOptions
from pipelines.resources.store import COMMIT_DONE, Store
from pipelines.settings import Settings
from pipelines.storage import documents, generation_states, generations, ledger
from pipelines.storage.database import Connection
from pipelines.sync_report import SyncReport, make_report
from pipelines.vault.folders import UPLOADS_KEY, folder_key
from pipelines.warm_up import load_models_beside

if TYPE_CHECKING:
    import dagster as dg

_LONGEST_TURN = 120.0
_POLL = 0.3
"""Seconds: how long a run of the uploads that is going on is waited for, and how often it is asked."""

_WRITERS = ("embeddings", "knowledge")  # the stages that write generations


def sync(
    settings: Settings,
    *,
    folders: Sequence[str] = (),
    full: bool = False,
    allow_deletes: bool = False,
    dry_run: bool = False,
    build_seconds: float = 0.0,
) -> SyncReport:
    """Bring the index in line with the vault, then go on with a migration to another model, if there is one.

    `build_seconds` ends the second part after that time, for callers that look at the vault again and come back; 0 is
    no limit. Imports Dagster only if there is something to do. Raises VaultUnavailable, VaultShrank, DatabaseError,
    EmbeddingError; what was done until then is kept. A clone of the vault's git remote is updated first, which raises
    RemoteUnreachable and RemoteRefused.
    """
    started = time.monotonic()
    store = Store(settings)
    of_vault = part_of(folders) == "all"
    update = store.update_clone() if of_vault else None
    if of_vault:
        store.vault  # noqa: B018  # a wrong vault is said before a database is started
    store.uploads  # noqa: B018  # and so is a folder of uploads that lies in it
    ocr.require(ParseOptions.from_settings(settings))
    with store.database.connect(autocommit=True) as connection:
        if of_vault:
            refresh_dates(store, connection)
        todo = plan(store, connection, folders=folders, full=full, allow_deletes=allow_deletes)
    runs: list[str] = []
    failure: VaultlineError | None = None
    if not dry_run and (todo.notice is None or todo.folders):
        try:
            if todo.folders:
                if todo.brings_text:
                    load_models_beside(settings)
                runs += _run(store, todo, full=full, allow_deletes=allow_deletes)
        except (EmbeddingError, ModelChanged, SettingsError) as error:
            failure = error  # perhaps for good: the way to another provider must stay open
        if failure is None or _serves(store):
            runs += _build(store, todo.present, folders, seconds=build_seconds)
    if not dry_run and not runs:
        upkeep(store)  # also of a run that failed: what was taken out of a note must not wait for a provider
    if failure is not None:
        raise failure
    with store.database.connect(autocommit=True) as connection:
        if update is not None and not (dry_run or folders or todo.notice):
            documents.put_fact(connection, COMMIT_DONE, update.after)
        return make_report(connection, todo, ledger.totals(connection, runs), dry_run=dry_run, started=started)


def _due(store: Store, connection: Connection) -> Due:
    return due(connection, store.settings, _wanted(store))


def _wanted(store: Store) -> str:
    from pipelines.embedding.cache import cached_embedder

    return cached_embedder(store.settings.embedding_model, store.settings).spec.fingerprint


def _serves(store: Store) -> bool:
    with store.database.connect() as connection:
        return generations.active_generation(connection) is not None


def build_generations(settings: Settings, *, folders: Sequence[str] = ()) -> None:
    """Go on with a migration without looking at the vault. Raises as `sync`."""
    store = Store(settings)
    with store.database.connect() as connection:
        known = documents.folders(connection)
    _build(store, known, folders, seconds=0.0)


def _build(store: Store, known: Sequence[str], folders: Sequence[str], *, seconds: float) -> list[str]:
    """Give the generations that do not serve what they lack, and promote the wanted one when it is complete."""
    with store.database.connect() as connection:
        step = _due(store, connection)
        if step.release:
            generation_states.release_held(connection, fingerprint=_wanted(store))
        missing = set(documents.folders(connection) if step.begin else step.build)
        if folders:
            missing &= {folder_key(name.strip("/")) for name in folders} | set(folders)
        if seconds and generation_states.recent_problems(connection, seconds=LEAVE_ALONE):
            missing = set()  # who comes back every few seconds need not knock at a closed door each time
    if missing:
        scope = {"scope": "BUILD", "seconds": seconds}
        return _execute_job(store, known, "reindex", sorted(missing), {name: {"config": scope} for name in _WRITERS})
    if step.promote is not None or step.retire:
        return _execute_job(store, known, "promote", (), {})
    return []


def _run(store: Store, todo: Plan, *, full: bool, allow_deletes: bool) -> list[str]:
    raw_files = {"full": full, "confirm_deletes": allow_deletes}
    ops = {"raw_files": {"config": raw_files}, **{name: {"config": {"scope": "CHANGES"}} for name in _WRITERS}}
    return _execute_job(store, todo.present, "index", todo.folders, ops)


def _execute_job(
    store: Store, known: Sequence[str], name: str, folders: Sequence[str], ops: dict[str, Any]
) -> list[str]:
    from pipelines import partitions
    from pipelines.dagster_home import open_instance, records_translated

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dagster's beta warnings, which are for us and not for the user
        from pipelines.definitions import build

    with contextlib.ExitStack() as stack:
        stack.enter_context(records_translated(store.settings))
        instance = stack.enter_context(open_instance(store.settings))
        partitions.register(instance, sorted({*known, *folders}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            job = build(store.settings, store=store).resolve_job_def(name)
        config = {"ops": ops, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        if name == "index" and UPLOADS_KEY in folders:
            stack.enter_context(_turn(store, instance))
        tags = [partitions.range_tags(first, last) for first, last in partitions.ranges(instance, folders)]
        runs = [_execute(job, instance, config, tag) for tag in tags or [{}]]
        with store.database.connect() as connection:
            partitions.forget(instance, documents.folders(connection))
    return runs


@contextlib.contextmanager
def _turn(store: Store, instance: "dg.DagsterInstance") -> Iterator[None]:
    """One run at a time indexes the uploads: a server, `watch` and a sensor may all have seen the same one.

    Two at once would be safe, and of no use; so nobody waits for longer than `_LONGEST_TURN`.
    """
    import dagster as dg

    from pipelines.sensors.indexing import covered, unfinished_runs

    def is_free(connection: Connection) -> bool:
        going_on = [run for run in unfinished_runs(instance) if run.status != dg.DagsterRunStatus.QUEUED]
        return UPLOADS_KEY not in covered(instance, going_on) and documents.claim_uploads(connection)

    deadline = time.monotonic() + _LONGEST_TURN
    with store.database.connect(autocommit=True) as connection:
        while not is_free(connection) and time.monotonic() < deadline:
            time.sleep(_POLL)
        yield


def _execute(
    job: "dg.JobDefinition", instance: "dg.DagsterInstance", config: dict[str, Any], tags: dict[str, str]
) -> str:
    import dagster as dg

    from pipelines.run_process import this_process

    key, own = tags.pop("dagster/partition", None), {**this_process(), "vaultline/started_by": "sync"}
    try:
        result = job.execute_in_process(instance=instance, partition_key=key, tags={**tags, **own}, run_config=config)
    except dg.DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None  # Dagster's word for it while a step runs
    except Exception as error:
        if (cause := _own_error(error)) is not None:
            raise cause from None
        raise
    return result.run_id


def _own_error(error: BaseException | None) -> VaultlineError | None:
    """Our error inside what Dagster wrapped around it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # Dagster links errors in circles
        if isinstance(error, VaultlineError):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
