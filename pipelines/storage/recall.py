"""Does the index of a generation find what an exact search finds?"""

import time
from dataclasses import dataclass
from typing import cast

import numpy as np
from psycopg import sql

from pipelines.storage import search
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation
from pipelines.storage.knowledge_index import indexed_locales
from pipelines.storage.queries import query
from pipelines.storage.search import Filters
from pipelines.storage.statistics import locale_counts

_NEIGHBOURS = 10
_SAME = 1e-5  # two rows of one distance may stand in either order; equal texts do


@dataclass(frozen=True, slots=True)
class Recall:
    """Mean recall@10 of one locale over `probes` rows; `indexed`: by HNSW, else exact by construction.

    `milliseconds`: median time of the vector leg of search.
    """

    locale: str
    rows: int
    probes: int
    recall: float
    indexed: bool
    milliseconds: float


def measure_recall(database: Database, generation: Generation, *, probes: int = 50) -> list[Recall]:
    """Ask for the neighbours of rows that are in the index, as search asks and exactly, locale by locale."""
    measured = []
    with search.reading(database) as connection:
        indexed = indexed_locales(connection, generation)
        for locale, rows in locale_counts(connection, generation).items():
            measured.append(_of_locale(connection, generation, locale, rows, locale in indexed, probes))
    return measured


def _of_locale(
    connection: Connection, generation: Generation, locale: str, rows: int, indexed: bool, probes: int
) -> Recall:
    sample = connection.execute(
        query("sample_rows", table=generation.table), {"locale": locale, "limit": probes if indexed else min(probes, 5)}
    ).fetchall()
    found, times = [], []
    for number, text in sample:
        vector = np.fromstring(str(text).strip("[]"), sep=",", dtype=np.float32)
        started = time.perf_counter()
        candidates = search.vector_candidates(
            connection, generation, vector, filters=Filters(locale=locale), limit=_NEIGHBOURS + 1
        )
        times.append(time.perf_counter() - started)
        if indexed:
            exact = _exact(connection, generation, locale, str(text))
            found.append(_share(candidates, exact, probe=cast(int, number)))
    return Recall(
        locale=locale,
        rows=rows,
        probes=len(sample),
        recall=round(float(np.mean(found)), 4) if found else 1.0,
        indexed=indexed,
        milliseconds=round(float(np.median(times)) * 1000, 2) if times else 0.0,
    )


def _share(candidates: dict[int, float], exact: dict[int, float], *, probe: int) -> float:
    """The share of the exact neighbours that were found; the probe itself, which is easy to find, does not count."""
    wanted = [number for number in exact if number != probe][:_NEIGHBOURS]
    if not wanted:
        return 1.0
    farthest = exact[wanted[-1]]
    best = sorted((number for number in candidates if number != probe), key=lambda number: -candidates[number])
    hits = sum(number in exact or candidates[number] >= farthest - _SAME for number in best[: len(wanted)])
    return hits / len(wanted)


def _exact(connection: Connection, generation: Generation, locale: str, vector: str) -> dict[int, float]:
    statement = query("exact_neighbours", table=generation.table, dimensions=sql.Literal(generation.dimensions))
    rows = connection.execute(statement, {"vector": vector, "locale": locale, "limit": _NEIGHBOURS + 1})
    return {cast(int, row[0]): cast(float, row[1]) for row in rows}
