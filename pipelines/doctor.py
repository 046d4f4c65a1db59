"""What `vaultline doctor` looks at: is everything there, reachable, configured and fresh?"""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from pipelines.errors import VaultlineError
from pipelines.resources.store import Store
from pipelines.settings import Settings
from pipelines.storage import documents, generations, reports
from pipelines.storage.database import Database, check_server

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at, and what to do if it is not well."""

    level: Level
    subject: str
    message: str

    def to_json(self) -> dict[str, Any]:
        """As `doctor --json` lists it."""
        return asdict(self)

    def to_text(self) -> str:
        """One line."""
        return f"{self.level:<8} {self.subject}: {self.message}"


def examine(settings: Settings) -> list[Finding]:
    """Look at everything; what fails is a finding, never an exception."""
    store = Store(settings)
    findings: list[Finding] = []
    for look in (
        _packages,
        _vault,
        _database,
        _model,
        _ocr,
        _dagster,
        _coverage,
        _quarantine,
        _older_versions,
        _warnings,
    ):
        findings += _guarded(look, store)
    return findings


def _guarded(look: Callable[[Store], Iterator[Finding]], store: Store) -> list[Finding]:
    try:
        return list(look(store))
    except VaultlineError as error:
        return [Finding("error", look.__name__.strip("_").replace("_", " "), str(error))]


def _packages(store: Store) -> Iterator[Finding]:
    names = ("dagster", "psycopg", "pgvector", "sentence-transformers", "torch", "openvino", "pymupdf", "voyageai")
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            optional = name in ("openvino", "voyageai")
            yield Finding(
                "warning" if optional else "error", "packages", f"{name} is not installed: pip install {name}"
            )
    yield Finding("ok", "packages", ", ".join(found))


def _vault(store: Store) -> Iterator[Finding]:
    from pipelines.vault.git_history import head_commit
    from pipelines.vault.rules import ScanRules
    from pipelines.vault.scan import scan

    found = scan(store.vault, rules=ScanRules.from_settings(store.settings, store.vault))
    head = head_commit(store.vault)
    dates = f"dates from git, at {head[:12]}" if head else "no git repository: dates from frontmatter and files"
    yield Finding("ok", "vault", f"{store.vault}: {len(found.files)} files, {dates}")
    for warning in found.warnings:
        yield Finding("warning", "vault", warning)


def _database(store: Store) -> Iterator[Finding]:
    database = Database.from_settings(store.settings)
    with database.connect() as connection:
        check_server(connection, database.safe_url)
        number = connection.info.server_version
    where = "DATABASE_URL" if store.settings.database_url else "embedded"
    yield Finding("ok", "database", f"PostgreSQL {number // 10000}.{number % 10000} at {database.safe_url} ({where})")


def _model(store: Store) -> Iterator[Finding]:
    from pipelines.embedding.cache import cached_embedder

    spec = cached_embedder(store.settings.embedding_model, store.settings).spec
    yield Finding(
        "ok",
        "model",
        f"{spec.name}: {spec.dimensions} numbers, {spec.max_tokens} tokens, space {spec.fingerprint[:12]}",
    )
    with store.database.connect() as connection:
        active = generations.active_generation(connection)
    if active is None:
        yield Finding("warning", "model", "nothing is indexed yet: run vaultline sync")
    elif active.fingerprint != spec.fingerprint:
        yield Finding(
            "warning",
            "model",
            f"search uses generation {active.id} ({active.model}), not the wanted model: see vaultline generation list",
        )


def _ocr(store: Store) -> Iterator[Finding]:
    from pipelines.parsing import ocr

    status = ocr.status(store.recipe.parsing)
    if status.problem:
        yield Finding("warning", "OCR", f"{status.problem}; scanned pages stay unread")
        return
    yield Finding("ok", "OCR", " ".join((f"{status.engine} {status.version}", *status.languages)))
    for note in status.notes:
        yield Finding("ok", "OCR", note)


def _dagster(store: Store) -> Iterator[Finding]:
    from pipelines.dagster_home import dagster_home

    home = dagster_home(store.settings)
    level: Level = "ok" if os.access(home, os.W_OK) else "error"
    yield Finding(level, "dagster", f"DAGSTER_HOME is {home}" + ("" if level == "ok" else ", which cannot be written"))


def _coverage(store: Store) -> Iterator[Finding]:
    recipe = store.recipe
    with store.database.connect() as connection:
        pending = reports.pending_folders(
            connection, parsers=recipe.parsers, chunker=recipe.chunker, describer=recipe.describer
        )
        active = generations.active_generation(connection)
        wrong = reports.check_generation(connection, active) if active else {}
    if pending:
        yield Finding("warning", "coverage", f"{sum(pending.values())} documents are pending: run vaultline sync")
    else:
        yield Finding("ok", "coverage", "nothing is pending")
    for name, count in wrong.items():
        if count and name != "vectors_refused":
            yield Finding("error", "index", f"{name.replace('_', ' ')}: {count}")


def _quarantine(store: Store) -> Iterator[Finding]:
    with store.database.connect() as connection:
        failed = len(documents.quarantined(connection))
    if failed:
        yield Finding("warning", "quarantine", f"{failed} documents failed: see vaultline quarantine list")


def _warnings(store: Store) -> Iterator[Finding]:
    with store.database.connect() as connection:
        for source, warning in reports.document_warnings(connection):
            yield Finding("warning", source, warning)


def _older_versions(store: Store) -> Iterator[Finding]:
    recipe = store.recipe
    with store.database.connect() as connection:
        stale = reports.made_by_older_versions(connection, parsers=recipe.parsers, chunker=recipe.chunker)
    for source in stale[:20]:
        yield Finding("warning", "older version", f"{source} was made by another parser or chunker: run vaultline sync")
    if len(stale) > 20:
        yield Finding("warning", "older version", f"and {len(stale) - 20} more")
