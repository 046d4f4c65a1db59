"""Latency of search over many chunks, against a plain `ORDER BY embedding <=> question LIMIT k`, and the ANN's recall.

    python benchmarks/search_latency.py VAULT [--chunks 100000] [--questions 200] [--home DIR] [--json]

Indexes VAULT in an embedded server of its own, then repeats its chunks with noise (words dropped and swapped, vectors
shaken) until there are `--chunks` rows. Questions are sentences of the vault. Prints milliseconds, query embedding
included, and recall@10 of the HNSW indexes against exact search, with --churn also after half of the vectors moved.
With --home the index is kept in DIR, and measured again without being built again.
"""

import argparse
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from psycopg import sql

from pipelines.embedding.factory import create_embedder
from pipelines.embedding.protocol import Role
from pipelines.retrieval.searcher import Searcher
from pipelines.settings import Settings
from pipelines.storage import knowledge_index, server
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation, active_generation
from pipelines.storage.recall import measure_recall
from pipelines.storage.search import vector_text
from pipelines.sync import sync

NOISE = 0.35
"""Length of what is shaken: cosine about 0.94 to where a vector came from."""


def main() -> None:
    """See the module."""
    options = _options()
    home = options.home or Path(tempfile.mkdtemp(prefix="vl-"))
    built = home.is_dir() and (home / "built").is_file()
    try:
        settings = Settings.load(_env_file=None, vault_path=options.vault, vaultline_home=home)
        if not built:
            sync(settings)
        database = Database.from_settings(settings)
        with database.connect() as connection:
            generation = active_generation(connection)
            assert generation is not None
            started = time.perf_counter()
            if not built:
                _multiply(connection, generation, options.chunks)
            loaded = time.perf_counter()
            if not built:
                _index(connection, generation, settings)
                (home / "built").touch()
        figures: dict[str, Any] = {
            "chunks": options.chunks,
            "insert_seconds": round(loaded - started, 1),
            "index_seconds": round(time.perf_counter() - loaded, 1),
            "recall@10": _recall(database, generation),
        }
        figures |= _latencies(database, settings, generation, options.questions)
        if options.churn:
            with database.connect() as connection:
                _churn(connection, generation)
            figures["recall@10 after churn"] = _recall(database, generation)
        print(json.dumps(figures, indent=2) if options.json else _table(figures))
    finally:
        server.stop(home)
        if options.home is None:
            shutil.rmtree(home, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--churn", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _multiply(connection: Connection, generation: Generation, chunks: int) -> None:
    """Fill the table up to `chunks` rows with noisy copies of what it holds; its HNSW indexes are dropped."""
    table = sql.Identifier(generation.table)
    for name in _hnsw(connection, generation):
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    rows = connection.execute(
        sql.SQL(
            "SELECT document_id, ordinal, text_hash, source, folder, title, section, context, content, locale,"
            " line_start, line_end, page_start, page_end, modified_at, embedding::real[] FROM {}"
            " WHERE embedding IS NOT NULL"
        ).format(table)
    ).fetchall()
    dice, noise = random.Random(7), np.random.default_rng(7)
    words: dict[str, list[str]] = {}
    for row in rows:
        words.setdefault(str(row[9]), []).extend(re.findall(r"\w+", str(row[8])))
    copy = sql.SQL(
        "COPY {} (document_id, ordinal, text_hash, source, folder, title, section, context, content, locale,"
        " line_start, line_end, page_start, page_end, modified_at, embedding, tags, properties) FROM STDIN"
    ).format(table)
    with connection.cursor() as cursor, cursor.copy(copy) as target:
        for number in range(chunks - len(rows)):
            copied = list(dice.choice(rows))
            copied[1], copied[2] = 10_000 + number, f"noise-{number}"
            copied[8] = _noisy_text(str(copied[8]), words[str(copied[9])], dice)
            vector = np.asarray(copied[15], dtype=np.float32)
            shaken = vector + NOISE * noise.standard_normal(len(vector)) / np.sqrt(len(vector))
            copied[15] = vector_text((shaken / np.linalg.norm(shaken)).astype(np.float32))
            target.write_row([*copied, [], "{}"])
    connection.execute(sql.SQL("ANALYZE {}").format(table))


def _noisy_text(text: str, words: list[str], dice: random.Random) -> str:
    kept = [dice.choice(words) if dice.random() < 0.15 else word for word in text.split(" ") if dice.random() > 0.15]
    return " ".join(kept)


def _index(connection: Connection, generation: Generation, settings: Settings) -> None:
    knowledge_index.ensure_indexes(connection, generation, settings)


def _hnsw(connection: Connection, generation: Generation) -> list[str]:
    rows = connection.execute("SELECT indexname FROM pg_indexes WHERE tablename = %s", (generation.table,))
    return [str(row[0]) for row in rows if "_hnsw_" in str(row[0])]


def _churn(connection: Connection, generation: Generation) -> None:
    """Move half of the vectors: the index keeps the dead ones until a vacuum, as under a vault that is edited."""
    connection.execute(
        sql.SQL(
            "UPDATE {table} k SET embedding = other.embedding FROM"
            " (SELECT locale, lead(id) OVER (PARTITION BY locale ORDER BY id) AS next, embedding"
            " FROM {table} WHERE id %% 2 = 0) AS other WHERE k.id = other.next"
        ).format(table=sql.Identifier(generation.table)),
        (),
    )


def _recall(database: Database, generation: Generation) -> dict[str, float]:
    return {item.locale: round(item.recall, 4) for item in measure_recall(database, generation)}


def _latencies(database: Database, settings: Settings, generation: Generation, questions: int) -> dict[str, Any]:
    with database.connect() as connection:
        texts = connection.execute(
            sql.SQL("SELECT content FROM {} WHERE text_hash NOT LIKE 'noise-%%' ORDER BY id").format(
                sql.Identifier(generation.table)
            ),
            (),
        ).fetchall()
    asked = _questions([str(row[0]) for row in texts], questions)
    searcher = Searcher(database, settings)
    embedder = create_embedder(settings.embedding_model, settings)
    vectors = [embedder.embed([text], role=Role.QUERY).vectors[0] for text in asked]
    figures: dict[str, Any] = {}
    with database.connect(autocommit=True) as connection:
        statement = sql.SQL("SELECT id, source, content FROM {} ORDER BY embedding <=> %s::vector LIMIT 10").format(
            sql.Identifier(generation.table)
        )
        plain = iter(vectors)
        figures["plain exact scan"] = _timed(
            asked[:10], lambda _: connection.execute(statement, (vector_text(next(plain)),)).fetchall()
        )
        locale = connection.execute(
            sql.SQL("SELECT locale FROM {} GROUP BY 1 ORDER BY count(*) DESC LIMIT 1").format(
                sql.Identifier(generation.table)
            )
        ).fetchone()
        assert locale is not None
        by_index = sql.SQL(
            "SELECT id, source, content FROM {} WHERE locale = {} ORDER BY embedding <=> %s::vector LIMIT 10"
        ).format(sql.Identifier(generation.table), sql.Literal(locale[0]))
        again = iter(vectors)
        figures["plain HNSW, one language"] = _timed(
            asked, lambda _: connection.execute(by_index, (vector_text(next(again)),)).fetchall()
        )
    figures["embedding alone"] = _timed(asked, lambda text: embedder.embed([text], role=Role.QUERY))
    for mode in ("vector", "text", "hybrid"):
        for text in asked[:20]:
            searcher.search(text, mode=mode)
        figures[mode] = _timed(asked, partial(searcher.search, mode=mode))
    searcher.close()
    return figures


def _questions(texts: list[str], count: int) -> list[str]:
    dice = random.Random(11)
    sentences = [part.strip() for text in texts for part in re.split(r"[.\n|]", text) if 4 <= len(part.split()) <= 14]
    dice.shuffle(sentences)
    return sentences[:count]


def _timed(asked: list[str], ask: Callable[[str], object]) -> dict[str, float]:
    spent = []
    for text in asked:
        started = time.perf_counter()
        ask(text)
        spent.append(1000 * (time.perf_counter() - started))
    ranked = sorted(spent)
    return {
        "p50_ms": round(statistics.median(ranked), 2),
        "p95_ms": round(ranked[int(0.95 * (len(ranked) - 1))], 2),
        "max_ms": round(ranked[-1], 2),
    }


def _table(figures: dict[str, Any]) -> str:
    lines = []
    for name, value in figures.items():
        shown = "  ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else value
        lines.append(f"{name:28} {shown}")
    plain = figures["plain HNSW, one language"]["p50_ms"]
    lines.append(f"{'hybrid / plain HNSW':28} {figures['hybrid']['p50_ms'] / plain:.1f} times")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
