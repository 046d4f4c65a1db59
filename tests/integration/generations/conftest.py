# ruff: noqa: S608  # table names are numbers of generations
"""A small vault whose embedding model changes, with a log of what was sent to the model."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipelines.chunking.chunk import hash_text
from pipelines.dagster_home import open_instance
from pipelines.embedding.cache import cached_embedder
from pipelines.embedding.canary import CANARY_TEXT
from pipelines.figures import Work
from pipelines.generations import promotion
from pipelines.generations.budget import Budget
from pipelines.generations.lifecycle import ensure_wanted
from pipelines.generations.scope import Scope
from pipelines.generations.writing import embed_live, publish_live
from pipelines.settings import Settings
from pipelines.storage import generations
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation
from pipelines.sync import sync
from pipelines.sync_report import SyncReport
from tests.servers.embedding_api import EmbeddingApi

_CANARY = hash_text(CANARY_TEXT)
VOYAGE_KEY = "pa-test-key"


@dataclass
class Bench:
    """A vault, its database, and settings that change from call to call."""

    settings: Settings
    database: Database
    overrides: dict[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        assert self.settings.vault_path is not None
        return self.settings.vault_path

    def write(self, source: str, text: str) -> None:
        path = self.root / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def fill(self, notes: int = 6, *, folders: int = 2) -> None:
        """Notes of one chunk each, with words of their own."""
        for number in range(notes):
            words = " ".join(f"word{number}x{index}" for index in range(30))
            self.write(f"folder{number % folders}/note{number}.md", f"# Note {number}\n\n{words}\n")

    def under(self, model: str, **changes: Any) -> Settings:
        return self.settings.model_copy(update={"embedding_model": model, **self.overrides, **changes})

    def seed(self, notes: int = 6, *, folders: int = 2, first: int = 0) -> None:
        """The rows that the stages before leave: documents of one chunk each. Much quicker than reading files."""
        with self.database.connect() as connection:
            for number in range(first, first + notes):
                words = " ".join(f"word{number}x{index}" for index in range(30))
                self.put(connection, f"folder{number % folders}/note{number}.md", f"Note {number}: {words}")

    def put(self, connection: Connection, source: str, *texts: str) -> None:
        """A document with these chunks, or its new version."""
        document = connection.execute(
            "INSERT INTO document (source, disk_path, folder, media_type, size, mtime_ns, content_hash, verified_ns, "
            "modified_at, modified_from, chunked_from, described_from, revision, title, locale) "
            "VALUES (%(source)s, %(path)s, %(folder)s, 'markdown', 1, 1, %(hash)s, 1, now(), 'mtime', "
            "%(hash)s || '/p/c', %(hash)s || '/p/d', nextval('document_revision'), %(source)s, 'en') "
            "ON CONFLICT (source) DO UPDATE SET content_hash = excluded.content_hash, "
            "chunked_from = excluded.chunked_from, described_from = excluded.described_from, "
            "revision = nextval('document_revision') RETURNING id",
            {
                "source": source,
                "path": source.encode(),
                "folder": source.partition("/")[0],
                "hash": hash_text("".join(texts)),
            },
        ).fetchone()
        assert document is not None
        connection.execute("DELETE FROM chunk WHERE document_id = %s", document)
        for ordinal, text in enumerate(texts):
            connection.execute(
                "INSERT INTO chunk (document_id, ordinal, text_hash, context, content, section, char_start, char_end, "
                "line_start, line_end, tokens) VALUES (%s, %s, %s, '', %s, '', 0, 1, 1, 1, %s)",
                (document[0], ordinal, hash_text(text), text, len(text.split())),
            )

    def edit(self, source: str, *texts: str) -> None:
        with self.database.connect() as connection:
            self.put(connection, source, *texts)

    def work(
        self,
        model: str,
        *,
        scope: Scope = Scope.ALL,
        folders: tuple[str, ...] | None = None,
        budget: Budget | None = None,
        **changes: Any,
    ) -> Work:
        """What one run of the stages embeddings, knowledge and live_index does, without Dagster around it."""
        settings = self.under(model, **changes)
        wanted = cached_embedder(model, settings)
        work = Work(
            folders if folders is not None else [row[0] for row in self.rows("SELECT DISTINCT folder FROM document")]
        )
        live = ensure_wanted(self.database, wanted)
        embed_live(
            self.database,
            settings,
            work,
            live=live,
            scope=scope,
            embedder_of=lambda target: promotion.embedder_of(target.generation, settings),
            budget=budget or Budget(),
            run="run",
        )
        publish_live(self.database, work, live=live, scope=scope)
        promotion.promote_due(self.database, settings, wanted.spec.fingerprint)
        promotion.retire_due(self.database, settings, wanted.spec.fingerprint)
        return work

    def sync(
        self, model: str, *, folders: tuple[str, ...] = (), build_seconds: float = 0.0, **changes: Any
    ) -> SyncReport:
        return sync(self.under(model, **changes), folders=folders, build_seconds=build_seconds)

    def states(self) -> dict[str, str]:
        """The state of every generation by model; of the youngest where a model has several."""
        with self.database.connect() as connection:
            rows = connection.execute("SELECT model, state FROM generation ORDER BY id").fetchall()
        return {str(model): str(state) for model, state in rows}

    def generation(self, model: str) -> Generation:
        with self.database.connect() as connection:
            return [item for item in generations.all_generations(connection) if item.model == model][-1]

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self.database.connect() as connection:
            return connection.execute(statement, parameters).fetchall()  # type: ignore[arg-type]

    def value(self, statement: str, *parameters: object) -> Any:
        return self.rows(statement, *parameters)[0][0]

    def execute(self, statement: str, *parameters: object) -> None:
        with self.database.connect() as connection:
            connection.execute(statement, parameters)  # type: ignore[arg-type]

    def table(self, generation: int) -> list[tuple[Any, ...]]:
        """What a generation's table says, without what depends on the order of writing."""
        return self.rows(
            "SELECT source, ordinal, text_hash, title, section, content, line_start, line_end, locale, embedding::text "
            f"FROM knowledge_g{generation} ORDER BY source, ordinal"
        )

    def asked(self, model: str | None = None) -> Counter[str]:
        """How often each text was sent to a fake model as a document, by hash; the canary apart."""
        log = self.settings.embedding_fake_log
        assert log is not None
        counted: Counter[str] = Counter()
        for line in log.read_text().splitlines() if log.exists() else ():
            call = json.loads(line)
            if call["role"] == "document" and model in (None, call["model"]):
                counted.update(call["texts"])
        del counted[_CANARY]
        return counted


@pytest.fixture(scope="session")
def dagster_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with Dagster's empty SQLite files: making them takes longer than a sync."""
    home = tmp_path_factory.mktemp("home")
    with open_instance(Settings.load(_env_file=None, vaultline_home=home)) as instance:
        instance.add_dynamic_partitions("warm", ["up"])
        instance.delete_dynamic_partition("warm", "up")
    return home


@pytest.fixture
def bench(settings: Settings, database: Database, dagster_template: Path, tmp_path: Path) -> Bench:
    home = tmp_path / "ready"
    shutil.copytree(dagster_template, home)
    ready = settings.model_copy(update={"vaultline_home": home, "embedding_fake_log": tmp_path / "calls.jsonl"})
    return Bench(ready, database)


@pytest.fixture
def voyage(bench: Bench) -> Iterator[EmbeddingApi]:
    """A local server that speaks Voyage's API; the bench's settings point at it."""
    with EmbeddingApi(flavour="voyage", key=VOYAGE_KEY).running() as api:
        settings = Settings.load(_env_file=None, voyage_api_key=VOYAGE_KEY)
        bench.overrides = {
            "voyage_base_url": api.url,
            "voyage_api_key": settings.voyage_api_key,
            "embedding_patience_seconds": 2.0,
        }
        yield api
