"""Rows of `unanswered` and `evaluation`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from pipelines.storage.database import Connection
from pipelines.storage.queries import query


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that found nothing good enough. `question` is its folded form, the key; `asked` as it was typed."""

    question: str
    asked: str
    locale: str
    times: int
    similarity: float | None
    first_at: datetime
    last_at: datetime
    exported_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """An evaluation as it was stored; `questions` are its outcomes."""

    golden: str
    golden_hash: str
    generation_id: int
    model: str
    questions: list[dict[str, Any]]
    measured_at: datetime


def record(connection: Connection, *, question: str, asked: str, locale: str, similarity: float | None) -> None:
    """Count a question."""
    parameters = {"question": question, "asked": asked, "locale": locale, "similarity": similarity}
    connection.execute(query("record_unanswered"), parameters)


def most_asked(connection: Connection, *, limit: int) -> list[Unanswered]:
    """The questions asked most often, then most lately."""
    with connection.cursor(row_factory=class_row(Unanswered)) as cursor:
        return cursor.execute(query("list_unanswered"), {"limit": limit}).fetchall()


def find(connection: Connection, identity: str) -> Unanswered | None:
    """A question by its id (see `reading.list_unanswered`), locked until the transaction ends."""
    with connection.cursor(row_factory=class_row(Unanswered)) as cursor:
        return cursor.execute(query("find_unanswered"), {"id": identity}).fetchone()


def mark_exported(connection: Connection, questions: Sequence[str]) -> None:
    """Remember that drafts were written for these."""
    connection.execute(query("mark_exported"), {"questions": list(questions)})


def forget(connection: Connection, *, days: int) -> int:
    """Drop what nobody has asked for `days`; returns how many went."""
    return connection.execute(query("forget_unanswered"), {"days": days}).rowcount


def put_evaluation(
    connection: Connection,
    *,
    golden: str,
    golden_hash: str,
    generation: int,
    model: str,
    figures: Mapping[str, Any],
    questions: Sequence[Mapping[str, Any]],
) -> int:
    """Store an evaluation; returns its number."""
    row = connection.execute(
        query("put_evaluation"),
        {
            "golden": golden,
            "golden_hash": golden_hash,
            "generation": generation,
            "model": model,
            "figures": Jsonb(dict(figures)),
            "questions": Jsonb([dict(question) for question in questions]),
        },
    ).fetchone()
    assert row is not None
    return cast(int, row[0])


def last_evaluation(connection: Connection, golden: str, *, generation: int | None = None) -> StoredEvaluation | None:
    """The youngest evaluation of a golden set, of one generation or of any."""
    with connection.cursor(row_factory=class_row(StoredEvaluation)) as cursor:
        return cursor.execute(query("last_evaluation"), {"golden": golden, "generation": generation}).fetchone()
