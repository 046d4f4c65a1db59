"""Rows of `generation` and `publication`, and the tables `knowledge_gN` behind them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from pipelines.embedding.protocol import ModelSpec
from pipelines.storage.database import Connection
from pipelines.storage.queries import query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SWITCH_LOCK = (0x7661756C, 2)  # writers share it, a switch of generations takes it alone


@dataclass(frozen=True, slots=True)
class Generation:
    """One model's index. `held`: left by a rollback, not promoted again by itself."""

    id: int
    model: str
    fingerprint: str
    spec: dict[str, Any]
    address: str | None
    dimensions: int
    state: str
    indexed: bool
    held: bool
    calibration: dict[str, Any]
    begun_at_revision: int = 0

    @property
    def table(self) -> str:
        """Name of the generation's pgvector table."""
        return f"knowledge_g{self.id}"

    @property
    def model_spec(self) -> ModelSpec:
        """The spec as it was when the generation was made."""
        return ModelSpec(**self.spec)


def live_generations(connection: Connection) -> list[Generation]:
    """Generations that receive writes: building, active, previous."""
    return _generations(connection, "live_generations")


def all_generations(connection: Connection) -> list[Generation]:
    """Every generation, retired ones included."""
    return _generations(connection, "all_generations")


def active_generation(connection: Connection) -> Generation | None:
    """The generation that search reads, or None before the first one is complete."""
    return next((generation for generation in live_generations(connection) if generation.state == "active"), None)


def announced_generation(connection: Connection) -> Generation | None:
    """The generation that a promotion under way is about to make active, so that searchers can load its model."""
    with connection.cursor(row_factory=class_row(Generation)) as cursor:
        return cursor.execute(query("announced_generation")).fetchone()


def add_generation(
    connection: Connection, *, spec: ModelSpec, address: str | None, canary: "NDArray[np.float32] | None"
) -> int:
    """Add a building generation with its empty table, in the caller's transaction; returns its number."""
    row = connection.execute(
        query("add_generation"),
        {
            "model": spec.name,
            "fingerprint": spec.fingerprint,
            "spec": Jsonb(asdict(spec)),
            "address": address,
            "dimensions": spec.dimensions,
            "canary": None if canary is None else str(canary.tolist()),
        },
    ).fetchone()
    assert row is not None
    number = int(str(row[0]))
    table = f"knowledge_g{number}"
    connection.execute(query("create_knowledge_table", table=table, dimensions=spec.dimensions))
    connection.execute(query("create_knowledge_key", table=table, generation=number))
    connection.execute(query("mark_begun"), {"generation": number})
    return number


def share_switch_lock(connection: Connection) -> None:
    """Keep a switch of generations waiting until the caller's transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", _SWITCH_LOCK)


def take_switch_lock(connection: Connection) -> None:
    """Wait for all writers and keep new ones waiting until the caller's transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", _SWITCH_LOCK)


def pending_publications(
    connection: Connection, generation: Generation, *, folders: Sequence[str], limit: int, since: int = -1
) -> list[int]:
    """Ids of documents that are ready for, and not yet in, a generation's table; only of revisions after `since`."""
    parameters = {
        "since": since,
        "generation": generation.id,
        "fingerprint": generation.fingerprint,
        "folders": list(folders),
        "limit": limit,
    }
    return [int(str(row[0])) for row in connection.execute(query("pending_publications"), parameters)]


def publish(connection: Connection, generation: Generation, ids: Sequence[int]) -> tuple[int, int, int]:
    """Make a generation's rows of these documents equal to their chunks, in the caller's transaction.

    Rows of unchanged texts stay in the vector index; returns numbers of documents published, rows added and removed.
    Documents that are not ready any more, and generations that are not live any more, are left alone.
    """
    share_switch_lock(connection)
    if generation.id not in {live.id for live in live_generations(connection)}:
        return 0, 0, 0
    parameters: dict[str, object] = {"fingerprint": generation.fingerprint, "generation": generation.id}
    connection.execute(query("lock_publishable"), {"ids": list(ids)})
    ready = connection.execute(query("publishable"), parameters | {"ids": list(ids)}).fetchall()
    parameters["ids"] = [row[0] for row in ready]
    removed = connection.execute(query("publish_delete", table=generation.table), parameters).rowcount
    connection.execute(query("publish_update", table=generation.table), parameters)
    added = connection.execute(query("publish_insert", table=generation.table), parameters).rowcount
    connection.execute(query("publish_record"), parameters)
    return len(ready), added, removed


def unpublish(connection: Connection, document_id: int) -> None:
    """Take a document out of every live generation, in the caller's transaction."""
    share_switch_lock(connection)  # a table must not be dropped between the look and the DELETE
    for generation in live_generations(connection):
        connection.execute(query("unpublish", table=generation.table), {"ids": [document_id]})


def gaps(connection: Connection, generation: Generation) -> tuple[int, int]:
    """Documents not yet published, and chunks without a vector, of a generation."""
    row = connection.execute(query("generation_gaps"), {"generation": generation.id}).fetchone()
    return (0, 0) if row is None else (int(str(row[0])), int(str(row[1])))


def activate(connection: Connection, generation: Generation) -> None:
    """Make the first generation the one that search reads, in the caller's transaction, which holds the switch lock."""
    connection.execute(query("enter_active"), {"generation": generation.id})
    show(connection, generation)


def show(connection: Connection, generation: Generation) -> None:
    """Point the view `knowledge` at a generation's table. Asks for an exclusive lock on the view, and holds it."""
    connection.execute(query("replace_view", table=generation.table, generation=generation.id))


def _generations(connection: Connection, name: str) -> list[Generation]:
    with connection.cursor(row_factory=class_row(Generation)) as cursor:
        return cursor.execute(query(name)).fetchall()
