"""What a database that changes all the time needs now and then: old records out, dead rows out, fresh statistics."""

from pipelines.settings import Settings
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import live_generations
from pipelines.storage.queries import query

_TABLES = ("document", "chunk", "parsed", "link", "embedding", "publication", "tombstone", "quarantine", "run_ledger")

_WORN = 0.2
"""Share of dead rows from which HNSW indexes are built anew: vacuuming one costs more than building it, and its graph
keeps detours round what was deleted."""


def purge_ledger(connection: Connection, *, days: int) -> int:
    """Forget what runs did more than so many days ago; returns the number of rows."""
    return connection.execute(query("purge_ledger"), {"days": days}).rowcount


def clean(database: Database, settings: Settings) -> dict[str, int]:
    """Rebuild worn vector indexes and vacuum all tables. Readers and writers go on meanwhile. Figures for people."""
    rebuilt = 0
    with database.connect(autocommit=True) as connection:
        connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (settings.index_build_memory,))
        tables = [generation.table for generation in live_generations(connection)]
        for table in tables:
            if _is_worn(connection, table):
                for (index,) in connection.execute(query("vector_indexes"), {"table": table}).fetchall():
                    connection.execute(query("reindex", index=str(index)))
                    rebuilt += 1
        for table in (*_TABLES, *tables):
            connection.execute(query("vacuum", table=table))
        size = connection.execute(query("database_size")).fetchone()
    return {"indexes_rebuilt": rebuilt, "tables": len(_TABLES) + len(tables), "bytes": int(str(size[0])) if size else 0}


def _is_worn(connection: Connection, table: str) -> bool:
    row = connection.execute(query("dead_rows"), {"table": table}).fetchone()
    if row is None:
        return False
    live, dead = int(str(row[0])), int(str(row[1]))
    return dead > _WORN * max(1, live)
