"""A small index made through the storage layer: documents of given passages, embedded by the deterministic fake."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np
import pytest
from psycopg.types.json import Jsonb

from pipelines.chunking.chunk import embedded_text, hash_text
from pipelines.embedding.factory import create_embedder
from pipelines.embedding.protocol import Embedder, Role
from pipelines.retrieval.searcher import Searcher
from pipelines.settings import Settings
from pipelines.storage import generations, vectors
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation
from pipelines.storage.knowledge_index import ensure_indexes
from pipelines.storage.vectors import TextToEmbed

TODAY = datetime.now(UTC)


class Index:
    """Writes documents and publishes them in every live generation, as the pipeline does."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings
        self._clock = count(1)
        self._searchers: list[Searcher] = []
        self.generation = self.add_generation(settings.embedding_model, active=True)

    def add_generation(self, model: str, *, active: bool = False) -> Generation:
        """A generation of a model with every document there is."""
        embedder = create_embedder(model, self.settings)
        with self.database.connect() as connection:
            number = generations.add_generation(connection, spec=embedder.spec, address=None, canary=None)
            made = self._generation(connection, number)
            if active:
                generations.activate(connection, made)
            documents = [row[0] for row in connection.execute("SELECT id FROM document ORDER BY id")]
            self._embed(connection, made, embedder)
            generations.publish(connection, made, documents)
            return self._generation(connection, number)

    def write(
        self,
        source: str,
        passages: Sequence[str],
        *,
        locale: str = "en",
        title: str = "",
        sections: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        properties: Mapping[str, Any] | None = None,
        modified_at: datetime = TODAY,
        folder: str | None = None,
        pages: Sequence[int] | None = None,
    ) -> int:
        """Add a document, or give it new passages; returns its id."""
        sections = sections or [title] * len(passages)
        moment = next(self._clock)
        with self.database.connect() as connection:
            row = connection.execute(
                """
                INSERT INTO document (source, disk_path, folder, media_type, size, mtime_ns, content_hash, verified_ns,
                    modified_at, modified_from, chunked_from, described_from, revision, title, locale, tags, properties)
                VALUES (%(source)s, %(path)s, %(folder)s, 'markdown', 1, %(moment)s, %(hash)s, 0, %(modified)s, 'mtime',
                    %(hash)s, %(hash)s, nextval('document_revision'), %(title)s, %(locale)s, %(tags)s, %(properties)s)
                ON CONFLICT (source) DO UPDATE SET content_hash = excluded.content_hash, title = excluded.title,
                    locale = excluded.locale, tags = excluded.tags, properties = excluded.properties,
                    modified_at = excluded.modified_at, revision = excluded.revision
                RETURNING id
                """,
                {
                    "source": source,
                    "path": source.encode(),
                    "folder": folder or (source.split("/")[0] if "/" in source else "_root"),
                    "moment": moment,
                    "hash": hashlib.blake2b(repr((source, passages, moment)).encode(), digest_size=16).hexdigest(),
                    "modified": modified_at,
                    "title": title,
                    "locale": locale,
                    "tags": list(tags),
                    "properties": Jsonb(dict(properties or {})),
                },
            ).fetchone()
            assert row is not None
            connection.execute("DELETE FROM chunk WHERE document_id = %s", row)
            for ordinal, (content, section) in enumerate(zip(passages, sections, strict=True)):
                page = None if pages is None else pages[ordinal]
                connection.execute(
                    "INSERT INTO chunk VALUES (%s, %s, %s, '', %s, %s, 0, 0, %s, %s, %s, %s, 1)",
                    (
                        row[0], ordinal, hash_text(embedded_text("", content)), content, section,
                        10 * ordinal + 1, 10 * ordinal + 5, page, page,
                    ),
                )  # fmt: skip
        self.publish([int(str(row[0]))])
        return int(str(row[0]))

    def publish(self, ids: Sequence[int]) -> None:
        """Bring every live generation up to date with these documents."""
        with self.database.connect() as connection:
            for generation in generations.live_generations(connection):
                self._embed(connection, generation, create_embedder(generation.model, self.settings))
                generations.publish(connection, generation, list(ids))

    def delete(self, source: str) -> None:
        """Take a document out of everything."""
        with self.database.connect() as connection:
            connection.execute("DELETE FROM document WHERE source = %s", (source,))

    def move(self, source: str, target: str, *, title: str | None = None) -> None:
        """Rename a document, perhaps with a new title."""
        with self.database.connect() as connection:
            row = connection.execute(
                "UPDATE document SET source = %s, folder = %s, title = coalesce(%s, title),"
                " revision = nextval('document_revision') WHERE source = %s RETURNING id",
                (target, target.split("/")[0], title, source),
            ).fetchone()
        assert row is not None
        self.publish([int(str(row[0]))])

    def fill(self, rows: int, *, locale: str = "en", tag: Callable[[int], str] = lambda number: "common") -> None:
        """Many one-passage rows straight into the active table, with random vectors, as quickly as possible."""
        noise = np.random.default_rng(rows)
        document = self.write(f"filler/{locale}-{rows}.md", ["filler"], locale=locale)
        with self.database.connect() as connection, connection.cursor() as cursor:
            columns = "document_id, ordinal, text_hash, source, folder, title, section, context, content, locale, line_start, line_end, tags, properties, modified_at, embedding"  # noqa: E501
            statement = f"COPY {self.generation.table} ({columns}) FROM STDIN"
            with cursor.copy(statement.encode()) as copy:
                for number in range(rows):
                    vector = noise.standard_normal(self.generation.dimensions)
                    vector /= np.linalg.norm(vector)
                    text = "[" + ",".join(f"{value:.6f}" for value in vector) + "]"
                    copy.write_row(
                        [document, number + 1, f"filler-{number}", f"filler/{locale}-{number}.md", "filler", "", "", "",
                         f"filler passage {number}", locale, 1, 1, [tag(number)], "{}", TODAY, text]
                    )  # fmt: skip
            ensure_indexes(connection, self.generation)

    def searcher(self, **overrides: Any) -> Searcher:
        """A searcher with other settings."""
        made = Searcher(Database(self.database.url), self.settings.model_copy(update=overrides))
        self._searchers.append(made)
        return made

    def close(self) -> None:
        """Close the searchers."""
        for searcher in self._searchers:
            searcher.close()

    def _embed(self, connection: Connection, generation: Generation, embedder: Embedder) -> None:
        rows = connection.execute(
            "SELECT DISTINCT text_hash, context, content FROM chunk c WHERE NOT EXISTS"
            " (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%s, c.text_hash))",
            (generation.fingerprint,),
        ).fetchall()
        texts = [TextToEmbed(str(row[0]), str(row[1]), str(row[2]), "", "") for row in rows]
        if texts:
            found = embedder.embed([text.text for text in texts], role=Role.DOCUMENT)
            vectors.accept_vectors(connection)
            vectors.put_embeddings(connection, fingerprint=generation.fingerprint, texts=texts, embeddings=found)

    @staticmethod
    def _generation(connection: Connection, number: int) -> Generation:
        return next(made for made in generations.live_generations(connection) if made.id == number)


@pytest.fixture
def index(database: Database, settings: Settings) -> Iterator[Index]:
    """An empty index with an active generation of the fake model."""
    made = Index(database, settings)
    yield made
    made.close()


@pytest.fixture
def searcher(index: Index) -> Searcher:
    """A searcher on the test's index."""
    return index.searcher()
