"""Rows of `run_ledger`: figures of every stage of every run."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from pipelines.storage.database import Connection
from pipelines.storage.queries import query

Figures = Mapping[str, int | float]


def record(
    connection: Connection,
    *,
    run: str,
    stage: str,
    folders: Sequence[str],
    figures: Figures,
    seconds: float,
    generation: int | None = None,
) -> None:
    """Write down what one stage of a run did."""
    connection.execute(
        query("put_ledger"),
        {
            "dagster_run": run,
            "stage": stage,
            "generation": generation,
            "folders": list(folders),
            "figures": Jsonb(dict(figures)),
            "seconds": seconds,
        },
    )


def totals(connection: Connection, runs: Sequence[str]) -> dict[str, dict[str, float]]:
    """Sums of every figure by stage over some runs."""
    sums: dict[str, dict[str, float]] = {}
    for stage, _, figures in connection.execute(query("ledger_of_runs"), {"runs": list(runs)}):
        into = sums.setdefault(str(stage), {})
        for name, value in dict(figures).items():  # type: ignore[call-overload]
            into[name] = into.get(name, 0) + value
    return sums


def last_runs(connection: Connection, limit: int) -> list[dict[str, Any]]:
    """The youngest runs: run id, start, seconds, figures by stage."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("last_runs"), {"limit": limit}).fetchall()
