"""What `vaultline sync` does: look, decide, and run the assets in this process for the folders that need it."""

import contextlib
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.assets.upkeep import upkeep
from pipelines.errors import EmbeddingError, ModelChanged, SettingsError, UsageError, VaultlineError
from pipelines.generations.lifecycle import Due, due
from pipelines.generations.report import migration_line
from pipelines.generations.writing import LEAVE_ALONE
from pipelines.intake.look import Look, Part, look, refresh_dates, settle
from pipelines.parsing import ocr
from pipelines.parsing.options import ParseOptions
from pipelines.resources.store import COMMIT_DONE, Store
from pipelines.settings import Settings
from pipelines.storage import documents, generation_states, generations, ledger, reports
from pipelines.storage.database import Connection
from pipelines.vault.folders import UPLOADS, UPLOADS_KEY, folder_key, folder_label, is_upload
from pipelines.warm_up import load_models_beside

if TYPE_CHECKING:
    import dagster as dg

Figures = dict[str, dict[str, float]]

_LONGEST_TURN = 120.0
_POLL = 0.3
"""Seconds: how long a run of the uploads that is going on is waited for, and how often it is asked."""

_WRITERS = ("embeddings", "knowledge")  # the stages that write generations


@dataclass(frozen=True)
class Plan:
    """What a sync would do. `folders` are partition keys; `notice` is a reason to leave the vault's alone."""

    folders: tuple[str, ...]
    seen: Look
    notice: str | None = None


@dataclass(frozen=True)
class SyncReport:
    """What a sync did; `to_json` is the contract of `vaultline sync --json`."""

    folders: tuple[str, ...]
    documents: dict[str, int]
    parsed: dict[str, int]
    chunks: dict[str, int]
    embeddings: dict[str, int]
    generations: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    notice: str | None = None
    migration: str | None = None

    @property
    def exit_code(self) -> int:
        """0 done, 3 done but something is quarantined."""
        return 3 if self.documents["quarantined"] else 0

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        return {
            "folders": list(self.folders),
            "documents": self.documents,
            "parsed": self.parsed,
            "chunks": self.chunks,
            "embeddings": self.embeddings,
            "generations": self.generations,
            "seconds": self.seconds,
        }

    def to_text(self, *, dry_run: bool = False) -> str:
        """A few lines for people."""
        if self.notice:
            return self.notice
        changes = ", ".join(f"{self.documents[name]} {name}" for name in _CHANGES if self.documents[name])
        if dry_run:
            where = ", ".join(folder_label(key) for key in self.folders)
            return f"would process {where}: {changes or 'no changed files'}" if where else "nothing to do"
        if not self.folders and self.embeddings["computed"]:
            texts = self.embeddings["computed"]
            return f"no file changed; {texts} texts embedded for another model ({self.seconds:.1f} s)"
        if not self.folders:
            done = self.migration or "nothing to do"
            return f"{done}: {self.documents['seen']} files, none changed ({self.seconds:.1f} s)"
        lines = [
            f"{self.documents['seen']} files in the vault: {changes or 'none changed'}",
            f"{self.parsed['computed']} parsed, {self.parsed['reused']} reused"
            + (f", {self.parsed['ocr_pages']} pages by OCR" if self.parsed["ocr_pages"] else ""),
            f"{self.chunks['total']} chunks: {self.chunks['added']} added, {self.chunks['removed']} removed",
            f"{self.embeddings['computed']} embedded, {self.embeddings['reused']} reused ({self.seconds:.1f} s)",
        ]
        if self.documents["quarantined"]:
            lines.append(f"{self.documents['quarantined']} in quarantine: see `vaultline quarantine list`")
        if self.migration:
            lines.append(self.migration)
        return "\n".join(lines)


def plan(
    store: Store,
    connection: Connection,
    *,
    folders: Sequence[str] = (),
    full: bool = False,
    allow_deletes: bool = False,
) -> Plan:
    """Look at the vault and the tables and name the folders with work, of `folders` (names) or of all."""
    part = _part(folders)
    seen = settle(store, connection, look(store, connection, full=full, confirm_deletes=allow_deletes, part=part))
    notice = None
    if part == "all" and not allow_deletes and all(is_upload(source) for source in seen.scan.files):
        held = sum(row.content_hash is not None for row in seen.known.values() if not is_upload(row.source))
        kept = f"; the {held} documents of the index stay (--allow-deletes removes them)" if held else ""
        notice = f"the vault {store.vault} holds no documents{kept}"
    recipe = store.recipe
    wanted = seen.touched_folders() | set(
        reports.pending_folders(connection, parsers=recipe.parsers, chunker=recipe.chunker, describer=recipe.describer)
    )
    if wanted and recipe.parsing.resolve_embeds:
        wanted |= set(seen.folders.values())  # any note's text may hold the changed one's
    if folders:
        present = {UPLOADS_KEY, *seen.folders.values(), *(row.folder for row in seen.known.values())}
        chosen = {name if name in present else folder_key(name.strip("/")) for name in folders}
        unknown = chosen - present
        if unknown:
            raise UsageError(f"no folder {', '.join(sorted(unknown))} in {store.vault}")
        wanted &= chosen
    if part == "uploads" or notice is not None:
        wanted &= {UPLOADS_KEY}
    return Plan(tuple(sorted(wanted)), seen, notice)


def _part(folders: Sequence[str]) -> Part:
    """Uploads alone are indexed without a look at the vault, which may be away."""
    return "uploads" if folders and {name.strip("/") for name in folders} <= {UPLOADS, UPLOADS_KEY} else "all"


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
    of_vault = _part(folders) == "all"
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
                if _brings_text(todo.seen):
                    load_models_beside(settings)
                runs += _run(store, todo, full=full, allow_deletes=allow_deletes)
        except (EmbeddingError, ModelChanged, SettingsError) as error:
            failure = error  # perhaps for good: the way to another provider must stay open
        if failure is None or _serves(store):
            runs += _build(store, _present(todo), folders, seconds=build_seconds)
    if not dry_run and not runs:
        upkeep(store)  # also of a run that failed: what was taken out of a note must not wait for a provider
    if failure is not None:
        raise failure
    with store.database.connect(autocommit=True) as connection:
        if update is not None and not (dry_run or folders or todo.notice):
            documents.put_fact(connection, COMMIT_DONE, update.after)
        return _report(connection, todo, ledger.totals(connection, runs), dry_run=dry_run, started=started)


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
    return _execute_job(store, _present(todo), "index", todo.folders, ops)


def _brings_text(seen: Look) -> bool:
    """Whether a file is of a size that no vanished one had: else they are moves, likely, which need no model."""
    vanished = Counter(row.size for row in seen.differences.vanished)
    return bool(Counter(file.size for file in seen.differences.to_read) - vanished)


def _present(todo: Plan) -> list[str]:
    return sorted({*todo.seen.folders.values(), *(row.folder for row in todo.seen.known.values())})


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


def _report(connection: Connection, todo: Plan, totals: Figures, *, dry_run: bool, started: float) -> SyncReport:
    def figure(stage: str, name: str) -> int:
        return int(totals.get(stage, {}).get(name, 0))

    states = reports.count_states(connection)
    found = _foreseen(todo) if dry_run else {name: figure("raw_files", name) for name in _CHANGES}
    seen = len(todo.seen.scan.files)
    documents = {
        "seen": seen,
        **found,
        "unchanged": max(0, seen - states["excluded"] - found["added"] - found["changed"] - found["moved"]),
        "excluded": states["excluded"],
        "quarantined": states["quarantined"],
    }
    computed = figure("embeddings", "embedded")
    return SyncReport(
        folders=todo.folders,
        documents=documents,
        parsed={
            "computed": figure("parsed_text", "parsed"),
            "reused": max(0, figure("chunks", "documents") - figure("parsed_text", "parsed")),
            "ocr_pages": figure("parsed_text", "ocr_pages"),
        },
        chunks={
            "total": reports.count_chunks(connection),
            "added": figure("chunks", "added"),
            "removed": figure("chunks", "removed"),
        },
        embeddings={
            "computed": computed,
            "reused": max(0, figure("chunks", "chunks") - computed),
            "truncated": figure("embeddings", "truncated"),
            "tokens": figure("embeddings", "tokens"),
        },
        generations=[
            {name: row[name] for name in ("id", "model", "state", "chunks", "missing")}
            for row in reports.generation_report(connection)
        ],
        seconds=round(time.monotonic() - started, 3),
        notice=todo.notice,
        migration=migration_line(generation_states.details(connection)),
    )


_CHANGES = ("added", "changed", "moved", "deleted")


def _foreseen(todo: Plan) -> dict[str, int]:
    """Changes as far as they show without reading a file: a move shows as one added and one deleted."""
    selected = set(todo.folders)
    different, folders = todo.seen.differences, todo.seen.folders
    to_read = [file for file in different.to_read if folders[file.source] in selected]
    gone = [row for row in (*different.vanished, *different.shut_out) if row.folder in selected]
    added = sum(file.source not in todo.seen.known for file in to_read)
    return {"added": added, "changed": len(to_read) - added, "moved": 0, "deleted": len(gone)}
