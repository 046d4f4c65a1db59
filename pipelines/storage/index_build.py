"""Index builds that keep no writer waiting: CREATE INDEX CONCURRENTLY, one builder a generation at a time."""

import os

from psycopg import sql

from pipelines.settings import Settings
from pipelines.storage import generations, statistics
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation
from pipelines.storage.knowledge_index import wanted_indexes
from pipelines.storage.queries import query

_LOCK = 0x7661756C
_LOCK_OF_GENERATION = 1_000  # added to the generation's number: a session lock of its own for each builder


def build_indexes(database: Database, generation: Generation, settings: Settings) -> list[str]:
    """Create the indexes that a live generation's table lacks; returns their names. Cheap when nothing is missing.

    A build that was killed leaves an invalid index behind, which is dropped and built again. Only one process builds;
    others return at once. Takes two passes over the table instead of one, and waits for transactions that are older:
    the price for writers that never wait.
    """
    with database.connect(autocommit=True) as connection:
        key = (_LOCK, _LOCK_OF_GENERATION + generation.id)
        if connection.execute("SELECT pg_try_advisory_lock(%s, %s)", key).fetchone() != (True,):
            return []
        try:
            return _build(connection, generation, settings)
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", key)


def missing_indexes(connection: Connection, generation: Generation) -> dict[str, sql.Composed]:
    """Statements of the indexes that a generation's table should have by now and has not, by index name."""
    rows = connection.execute(query("index_names"), {"table": generation.table})
    existing = {str(row[0]) for row in rows}
    wanted = wanted_indexes(connection, generation)
    return {name: statement for name, statement in wanted.items() if name not in existing}


def _build(connection: Connection, generation: Generation, settings: Settings) -> list[str]:
    with connection.transaction():
        statistics.fold(connection)
    missing = missing_indexes(connection, generation)
    if missing:
        for (name,) in connection.execute(query("invalid_indexes"), {"table": generation.table}).fetchall():
            connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(str(name))))
        connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (settings.index_build_memory,))
        workers = str(max(1, (os.cpu_count() or 2) - 1))
        connection.execute("SELECT set_config('max_parallel_maintenance_workers', %s, false)", (workers,))
        for statement in missing.values():
            connection.execute(_concurrently(connection, statement))
        connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(generation.table)))
    if not generation.indexed:
        with connection.transaction():
            generations.share_switch_lock(connection)
            connection.execute(query("mark_indexed"), {"generation": generation.id})
    return list(missing)


def _concurrently(connection: Connection, statement: sql.Composed) -> bytes:
    lines = statement.as_string(connection).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    if not text.startswith("CREATE INDEX "):
        raise ValueError("only an index can be built without blocking")
    return text.replace("CREATE INDEX ", "CREATE INDEX CONCURRENTLY ", 1).encode()
