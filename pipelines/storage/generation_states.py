"""Where every generation stands: progress, verdicts, what happened, what is due."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from pipelines.chunking.chunk import embedded_text
from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation
from pipelines.storage.queries import query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Event = Literal["begun", "promoted", "overridden", "rolled back", "retired"]


@dataclass(frozen=True, slots=True)
class GenerationDetails:
    """A generation as people see it. `bytes` of its table with indexes; `tokens`, `cost_usd` spent for it so far."""

    id: int
    model: str
    dimensions: int
    state: str
    held: bool
    indexed: bool
    address: str | None
    fingerprint: str
    problem: str | None
    problem_at: datetime | None
    gate: dict[str, Any] | None
    created_at: datetime
    announced_at: datetime | None
    activated_at: datetime | None
    left_at: datetime | None
    retired_at: datetime | None
    chunks: int
    documents_missing: int
    texts_missing: int
    bytes: int
    tokens: int
    cost_usd: float


def details(connection: Connection, generation: int | None = None) -> list[GenerationDetails]:
    """Every generation, or one."""
    with connection.cursor(row_factory=class_row(GenerationDetails)) as cursor:
        return cursor.execute(query("generation_details"), {"generation": generation}).fetchall()


def folder_progress(connection: Connection, generation: int) -> list[dict[str, Any]]:
    """Folder, its documents, and how many of them a generation holds at their present revision."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("generation_folders"), {"generation": generation}).fetchall()


def vector_progress(connection: Connection, generation: int) -> list[dict[str, Any]]:
    """Folder, its chunks, and how many of them have a vector of a generation's model."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("generation_vectors"), {"generation": generation}).fetchall()


def backlog(connection: Connection, generation: int) -> dict[str, int]:
    """Documents that a generation still has to take in, by folder."""
    rows = connection.execute(query("backlog_folders"), {"generation": generation})
    return {str(folder): cast(int, count) for folder, count in rows}


def lag(connection: Connection, generation: int, *, than: int) -> int:
    """Documents that the generation `than` shows in a newer version, or alone. 0: a switch loses nothing."""
    return _number(connection, "lag", {"generation": generation, "than": than})


def soaked(connection: Connection, *, seconds: float) -> list[int]:
    """Previous generations that were left longer ago than `seconds`."""
    return [cast(int, row[0]) for row in connection.execute(query("soaked"), {"seconds": seconds})]


def any_held(connection: Connection, *, fingerprint: str) -> bool:
    """Whether a generation of another model than the wanted one is held back, retired ones included."""
    return connection.execute(query("any_held"), {"fingerprint": fingerprint}).fetchone() == (True,)


def release_held(connection: Connection, *, fingerprint: str) -> None:
    """Let generations of other models than the wanted one be promoted by themselves again, once they are wanted."""
    connection.execute(query("release_held"), {"fingerprint": fingerprint})


def is_held(connection: Connection, *, fingerprint: str) -> bool:
    """Whether the youngest generation of a model was rolled back or stopped by hand, even if it is retired by now."""
    row = connection.execute(query("held_fingerprint"), {"fingerprint": fingerprint}).fetchone()
    return row is not None and bool(row[0])


def record_event(connection: Connection, generation: int, event: Event, **detail: object) -> None:
    """Write down what happened to a generation."""
    connection.execute(query("put_event"), {"generation": generation, "event": event, "detail": Jsonb(detail)})


def events(connection: Connection, generation: int) -> list[dict[str, Any]]:
    """What happened to a generation, oldest first: event, detail, at."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("events_of"), {"generation": generation}).fetchall()


def put_problem(connection: Connection, generation: int, problem: str | None) -> None:
    """Say why a generation's last run ended early, or that it did not."""
    connection.execute(query("put_generation_problem"), {"generation": generation, "problem": problem})


def recent_problems(connection: Connection, *, seconds: float) -> frozenset[int]:
    """Generations whose last run failed less than `seconds` ago."""
    rows = connection.execute(query("recent_problems"), {"seconds": seconds})
    return frozenset(cast(int, row[0]) for row in rows)


def spend(connection: Connection, *, run: str, generation: int, texts: int, tokens: int, cost_usd: float) -> None:
    """Add to what a run has spent for a generation; call it in the transaction that stores what it was spent on."""
    parameters = {"run": run, "generation": generation, "texts": texts, "tokens": tokens, "cost_usd": cost_usd}
    connection.execute(query("spend"), parameters)


def spending(connection: Connection, run: str) -> list[dict[str, Any]]:
    """What a run has spent: generation_id, model, texts, tokens, cost_usd."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("spending_of_run"), {"run": run}).fetchall()


def put_gate(connection: Connection, generation: int, verdict: Mapping[str, Any]) -> None:
    """Store the gate's verdict."""
    connection.execute(query("put_gate"), {"generation": generation, "gate": Jsonb(dict(verdict))})


def put_calibration(connection: Connection, generation: int, calibration: Mapping[str, Any]) -> None:
    """Store thresholds and weights; they take effect with the generation."""
    connection.execute(query("put_calibration"), {"generation": generation, "calibration": Jsonb(dict(calibration))})


def announce(connection: Connection, generation: int) -> None:
    """Tell searchers that a switch to this generation is near, so that they load its model."""
    connection.execute(query("announce"), {"generation": generation})


def canary(connection: Connection, generation: int) -> "NDArray[np.float32] | None":
    """The canary's vector from when the generation was made, shape (dimensions,)."""
    import numpy as np

    row = connection.execute(query("canary_of"), {"generation": generation}).fetchone()
    if row is None or row[0] is None:
        return None
    return np.fromstring(str(row[0]).strip("[]"), sep=",", dtype=np.float32)


def gate_state(connection: Connection, generation: Generation) -> list[int]:
    """Three numbers that change with what a verdict is about: newest revision, chunks, documents."""
    row = connection.execute(query("gate_state"), {"generation": generation.id}).fetchone()
    return [] if row is None else [cast(int, value) for value in row]


def sizes(connection: Connection, generation: Generation) -> tuple[int, int]:
    """Bytes of a generation's table with its indexes, and its chunks."""
    parameters = {"generation": generation.id, "table": generation.table}
    row = connection.execute(query("generation_size"), parameters).fetchone()
    return (0, 0) if row is None else (cast(int, row[0]), cast(int, row[1]))


def cache_bytes(connection: Connection, fingerprint: str) -> int:
    """Bytes of a model's vectors in the text-addressed cache."""
    return _number(connection, "cache_size", {"fingerprint": fingerprint})


def _number(connection: Connection, name: str, parameters: Mapping[str, object]) -> int:
    row = connection.execute(query(name), parameters).fetchone()
    return 0 if row is None else cast(int, row[0])


def plan_totals(connection: Connection, fingerprint: str) -> dict[str, int]:
    """Numbers that a plan starts from: documents, chunks, texts, cached, chunker_tokens, text_bytes."""
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("plan_totals"), {"fingerprint": fingerprint}).fetchone() or {}
    return {name: int(value) for name, value in row.items()}


def plan_sample(connection: Connection, fingerprint: str, *, limit: int) -> list[tuple[str, int]]:
    """Texts that have no vector under a model, as they would be embedded, with the chunker's count of their tokens."""
    rows = connection.execute(query("plan_sample"), {"fingerprint": fingerprint, "limit": limit})
    return [(embedded_text(str(context), str(content)), cast(int, tokens)) for context, content, tokens in rows]
