"""The transactions that change what search reads: short, and never in anybody's way for longer than a blink.

Replacing the view needs an exclusive lock on it, and whoever asks for such a lock makes every later reader wait behind.
So nobody waits for it for longer than `WAIT_MS`: then the transaction is undone, readers pass, and it is tried again.
The same goes for the lock that writers share.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pipelines.errors import DatabaseConflict, GateNotPassed, GenerationError, GenerationNotFound
from pipelines.storage import generation_states as states
from pipelines.storage import generations
from pipelines.storage.database import Connection, Database
from pipelines.storage.generation_states import Event
from pipelines.storage.generations import Generation
from pipelines.storage.queries import query

WAIT_MS = 50
"""How long one attempt may wait for a lock, and therefore the longest that it keeps a reader or a writer waiting."""

_PAUSE = (0.02, 0.15)  # seconds between two attempts, random: a regular reader must not always be there

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Switch:
    """What a switch did. `seconds` is how long the exclusive locks were held; `attempts` counts the one that worked."""

    left: Generation | None
    entered: Generation
    seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Retired:
    """What retiring gave back: bytes of the table with its indexes, and its chunks."""

    generation: Generation
    bytes: int
    chunks: int


def switch_to(
    database: Database,
    number: int,
    *,
    event: Event,
    detail: dict[str, object],
    hold_left: bool = False,
    allow_lag: bool = False,
    patience: float = 60.0,
) -> Switch:
    """Make a live generation the active one: view, active row and thresholds in one transaction.

    `hold_left` marks the generation that is left, so that it is not promoted again by itself. Unless `allow_lag`, a
    generation that lacks documents of the active one is refused. Raises GenerationNotFound, GateNotPassed,
    GenerationError (already active; or a reader or writer did not let go for `patience` seconds).
    """

    def work(connection: Connection) -> tuple[Generation | None, Generation, float]:
        generations.take_switch_lock(connection)
        started = time.perf_counter()
        live = {generation.id: generation for generation in generations.live_generations(connection)}
        target = live.get(number)
        if target is None:
            raise GenerationNotFound(f"there is no live generation {number}: see `vaultline generation list`")
        if target.state == "active":
            raise GenerationError(f"generation {number} ({target.model}) is the active one already")
        left = next((generation for generation in live.values() if generation.state == "active"), None)
        if left is not None and not allow_lag and (behind := states.lag(connection, number, than=left.id)):
            raise GateNotPassed(
                f"generation {number} lacks {behind} documents of the active one: run `vaultline generation build`"
            )
        connection.execute(query("leave_active"), {"held": hold_left})
        connection.execute(query("enter_active"), {"generation": number})
        states.record_event(connection, number, event, **detail, left=None if left is None else left.id)
        generations.show(connection, target)
        return left, target, started

    (left, entered, started), attempts = _try_until(database, work, patience=patience)
    return Switch(left, entered, time.perf_counter() - started, attempts)


def retire(
    database: Database, number: int, *, hold: bool | None = None, detail: dict[str, object], patience: float = 60.0
) -> Retired:
    """Drop a generation's table. Its vectors stay in the cache until they have been unneeded for long enough.

    `hold`: whether it is not begun again by itself while the setting names it; None leaves that as it is. Raises
    GenerationNotFound, and GenerationError for the active one or when a reader of its table did not let go for
    `patience` seconds.
    """

    def work(connection: Connection) -> Retired:
        generations.take_switch_lock(connection)
        live = {generation.id: generation for generation in generations.live_generations(connection)}
        target = live.get(number)
        if target is None:
            raise GenerationNotFound(f"there is no live generation {number}: see `vaultline generation list`")
        if target.state == "active":
            raise GenerationError(f"generation {number} ({target.model}) is what search reads: it cannot be retired")
        size, chunks = states.sizes(connection, target)
        connection.execute(query("retire_generation"), {"generation": number, "held": hold})
        connection.execute(query("forget_publications"), {"generation": number})
        states.record_event(connection, number, "retired", **detail, bytes=size, chunks=chunks)
        connection.execute(query("drop_knowledge_table", table=target.table))
        return Retired(target, size, chunks)

    return _try_until(database, work, patience=patience)[0]


def _try_until(database: Database, work: Callable[[Connection], T], *, patience: float) -> tuple[T, int]:
    deadline = time.monotonic() + patience
    attempts = 0
    while True:
        attempts += 1
        try:
            with database.connect() as connection:
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{WAIT_MS}ms",))
                return work(connection), attempts
        except DatabaseConflict as error:
            if time.monotonic() > deadline:
                raise GenerationError(f"{_blockers(database)} Nothing was changed; try again.") from error
        time.sleep(random.uniform(*_PAUSE))


def _blockers(database: Database) -> str:
    with database.connect() as connection:
        rows = connection.execute(query("blockers_of_view")).fetchall()
    if not rows:
        return "writers did not pause long enough for the switch."
    who = ", ".join(f"process {pid} ({name or 'no name'}, for {seconds} s)" for pid, name, seconds in rows)
    return f"the view `knowledge` is being read in a transaction that does not end: {who}."
