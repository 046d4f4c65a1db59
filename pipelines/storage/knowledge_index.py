"""Indexes of a generation's table: HNSW for each locale that is large enough, GIN for words, B-tree for locales."""

import hashlib
import os

from psycopg import sql

from pipelines.settings import Settings
from pipelines.storage import statistics
from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation
from pipelines.storage.queries import query

EXACT_ROWS = 2_000
"""Rows of a locale up to which comparing all of them is as fast as asking an HNSW index, and exact."""

VECTOR_DIMENSIONS = 2_000
"""pgvector indexes `vector` up to here, and `halfvec` up to twice as many; beyond that every search is exact."""
HALFVEC_DIMENSIONS = 4_000


def ensure_indexes(connection: Connection, generation: Generation, settings: Settings | None = None) -> list[str]:
    """Create the indexes that a generation's table lacks; returns their names. Cheap when nothing is missing.

    Runs in the caller's transaction and keeps writers of this table waiting while it builds.
    """
    statistics.fold(connection)
    missing = [name for name in wanted_indexes(connection, generation) if name not in _existing(connection, generation)]
    if missing:
        memory = (settings or Settings.load()).index_build_memory
        connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (memory,))
        workers = str(max(1, (os.cpu_count() or 2) - 1))
        connection.execute("SELECT set_config('max_parallel_maintenance_workers', %s, true)", (workers,))
        wanted = wanted_indexes(connection, generation)
        for name in missing:
            connection.execute(wanted[name])
        connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(generation.table)))
    if not generation.indexed:
        connection.execute(query("mark_indexed"), {"generation": generation.id})
    return missing


def wanted_indexes(connection: Connection, generation: Generation) -> dict[str, sql.Composed]:
    """Statements that create the indexes a generation should have by now, by index name."""
    table = generation.table
    wanted = {
        f"{table}_search": query("create_search_index", table=table, index=f"{table}_search"),
        f"{table}_locale": query("create_locale_index", table=table, index=f"{table}_locale"),
    }
    if generation.dimensions <= HALFVEC_DIMENSIONS:
        for locale, rows in statistics.locale_counts(connection, generation).items():
            if rows > EXACT_ROWS:
                name = vector_index(generation, locale)
                wanted[name] = query(
                    "create_vector_index",
                    table=table,
                    index=name,
                    vector=indexed_vector(generation),
                    operators=sql.SQL("vector_cosine_ops" if _is_plain(generation) else "halfvec_cosine_ops"),
                    locale=sql.Literal(locale),
                )
    return wanted


def vector_index(generation: Generation, locale: str) -> str:
    """Name of a locale's HNSW index: hashed, because a locale is whatever a note says it is."""
    return f"{generation.table}_hnsw_{hashlib.blake2b(locale.encode(), digest_size=6).hexdigest()}"


def indexed_locales(connection: Connection, generation: Generation) -> frozenset[str]:
    """Locales that have an HNSW index."""
    return split_locales(connection, generation)[0]


def split_locales(connection: Connection, generation: Generation) -> tuple[frozenset[str], frozenset[str]]:
    """Locales of the generation's rows with an HNSW index, and those without."""
    names = _existing(connection, generation)
    locales = frozenset(statistics.locale_counts(connection, generation))
    indexed = frozenset(locale for locale in locales if vector_index(generation, locale) in names)
    return indexed, locales - indexed


def indexed_vector(generation: Generation) -> sql.Composed:
    """The expression that is indexed and that a search must order by."""
    plain = sql.SQL("embedding")
    if _is_plain(generation) or generation.dimensions > HALFVEC_DIMENSIONS:
        return sql.Composed([plain])
    return sql.SQL("({}::halfvec({}))").format(plain, sql.Literal(generation.dimensions))


def _is_plain(generation: Generation) -> bool:
    return generation.dimensions <= VECTOR_DIMENSIONS


def _existing(connection: Connection, generation: Generation) -> frozenset[str]:
    return frozenset(str(row[0]) for row in connection.execute(query("index_names"), {"table": generation.table}))
