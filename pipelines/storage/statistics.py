"""Term statistics of a generation, for the document frequencies of BM25 and the sizes of its languages.

Triggers on the generation's table append what every statement adds and takes away; nothing is ever updated in place, so
that two writers cannot block each other. Readers sum; `fold` keeps what they sum short.
"""

from typing import cast

from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation
from pipelines.storage.queries import query

FOLD_FROM = 20_000
"""Appended rows below which folding is not worth its while. An index lookup sums a hundred rows in microseconds."""


def fold(connection: Connection, *, least: int = FOLD_FROM) -> bool:
    """Sum up what was appended, in the caller's transaction; False if there was little to do or another one does it."""
    row = connection.execute(query("count_unfolded"), {"limit": least}).fetchone()
    if row is None or cast(int, row[0]) < least or connection.execute(query("lock_folding")).fetchone() != (True,):
        return False
    for name in ("drop_dead_terms", "drop_dead_locales", "fold_terms", "fold_locales"):
        connection.execute(query(name))
    return True


def locale_counts(connection: Connection, generation: Generation) -> dict[str, int]:
    """Rows of each locale of a generation, the largest first."""
    rows = connection.execute(query("locale_counts"), {"generation": generation.id})
    return {str(row[0]): cast(int, row[1]) for row in rows}


def differences(connection: Connection, generation: Generation) -> int:
    """How many statistics differ from a recount of the generation's rows: 0, or something is wrong."""
    wrong = 0
    for held, recount in (("held_terms", "recount_terms"), ("held_locales", "recount_locales")):
        kept = set(connection.execute(query(held), {"generation": generation.id}).fetchall())
        true = set(connection.execute(query(recount, table=generation.table)).fetchall())
        wrong += len(kept ^ true)
    return wrong
