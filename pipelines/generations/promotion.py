"""Promote, roll back, retire: the steps around the switch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipelines.embedding.cache import cached_embedder_for
from pipelines.embedding.protocol import Embedder
from pipelines.errors import GateNotPassed, GenerationError, GenerationNotFound
from pipelines.generations import gate
from pipelines.generations.gate import Verdict
from pipelines.generations.lifecycle import due
from pipelines.settings import Settings
from pipelines.storage import generation_states as states
from pipelines.storage import generations, switching
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation
from pipelines.storage.index_build import build_indexes
from pipelines.storage.switching import Retired, Switch

_PROMOTION_LOCK = (0x7661756C, 4)


@dataclass(frozen=True, slots=True)
class Promotion:
    """A generation that passed the gate, or was let through, and the switch to it."""

    verdict: Verdict
    switch: Switch
    overridden: bool


def promote(
    database: Database, settings: Settings, number: int, *, override: str | None = None, by: str = "command"
) -> Promotion:
    """Build the missing indexes of a live generation, ask the gate, and switch search to it.

    `override`: the reason to switch although the gate does not pass; it is recorded. A generation that lacks documents
    of the active one is not switched to in any case. Raises GateNotPassed with the reasons, GenerationNotFound,
    GenerationError if another promotion is going on.
    """
    with _alone(database):
        with database.connect() as connection:
            generation = find(connection, number)
            if generation.state == "active":
                raise GenerationError(f"generation {number} ({generation.model}) is the active one already")
            if generations.gaps(connection, generation) == (0, 0):
                states.announce(connection, number)
        build_indexes(database, generation, settings)
        verdict = gate.examine(database, generation, settings, embedder=lambda: embedder_of(generation, settings))
        overridden = not verdict.passed and override is not None
        stored = verdict.to_json() | ({"overridden": override} if overridden else {})
        with database.connect() as connection:
            states.put_gate(connection, number, stored)
        if not verdict.passed and not overridden:
            raise GateNotPassed(
                f"generation {number} ({generation.model}) is not promoted: {verdict.reasons}. Search goes on with the "
                "active one. `vaultline generation promote --override REASON` switches all the same"
            )
        switch = switching.switch_to(
            database,
            number,
            event="overridden" if overridden else "promoted",
            detail={"by": by} | ({"reason": override, "gate": verdict.reasons} if overridden else {}),
        )
        return Promotion(verdict, switch, overridden)


def promote_due(database: Database, settings: Settings, fingerprint: str) -> Promotion | Verdict | None:
    """Promote the wanted model's generation if that is due: complete, automatic, and not held back.

    Returns the Promotion; the Verdict that holds it back (the stored one's reasons stand until what it was about
    changes); or None if nothing is due, or somebody else promotes at the moment.
    """
    with database.connect() as connection:
        number = due(connection, settings, fingerprint).promote
        if number is None:
            return None
        generation = find(connection, number)
        stored = next(iter(states.details(connection, number))).gate
    if stored and not stored["passed"] and stored["about"] == gate.about(database, generation, settings):
        return gate.from_json(number, stored)
    try:
        return try_promote(database, settings, number, by="itself")
    except _Busy:
        return None


def try_promote(
    database: Database, settings: Settings, number: int, *, override: str | None = None, by: str = "command"
) -> Promotion | Verdict:
    """Like `promote`, but a gate that does not pass is an answer, the Verdict, and not an error."""
    try:
        return promote(database, settings, number, override=override, by=by)
    except GateNotPassed:
        with database.connect() as connection:
            stored = next(iter(states.details(connection, number))).gate
        if stored is None or stored["passed"]:
            raise  # it fell behind between the gate and the switch
        return gate.from_json(number, stored)


def roll_back(database: Database, number: int | None = None, *, allow_lag: bool = False, by: str = "command") -> Switch:
    """Switch search back to the generation that was active before, at once and without a gate.

    It has received every write since. The one that is left keeps receiving them and is held: it is not promoted by
    itself, even while the setting still names it. Raises GenerationNotFound if there is none to go back to, and
    GateNotPassed if it lacks documents (its provider failed since), unless `allow_lag`.
    """
    with database.connect() as connection:
        target = find(connection, number) if number is not None else _last_left(connection)
        if target.state != "previous":
            raise GenerationError(
                f"generation {target.id} is {target.state}: a rollback goes to a previous one, "
                "`vaultline generation promote` goes forward"
            )
    return switching.switch_to(
        database, target.id, event="rolled back", detail={"by": by}, hold_left=True, allow_lag=allow_lag
    )


def retire(database: Database, number: int, *, by: str = "command") -> Retired:
    """Drop a generation's table. One that was being built is not begun again while the setting still names it."""
    with database.connect() as connection:
        building = find(connection, number).state == "building"
    return switching.retire(database, number, hold=True if building else None, detail={"by": by})


def retire_due(database: Database, settings: Settings, fingerprint: str) -> list[Retired]:
    """Retire what is past its soak, and builds of models that are not wanted any more."""
    with database.connect() as connection:
        numbers = due(connection, settings, fingerprint).retire
    return [switching.retire(database, number, detail={"by": "itself"}) for number in numbers]


def find(connection: Connection, number: int) -> Generation:
    """A live generation by its number. Raises GenerationNotFound."""
    for generation in generations.live_generations(connection):
        if generation.id == number:
            return generation
    raise GenerationNotFound(f"there is no live generation {number}: see `vaultline generation list`")


def embedder_of(generation: Generation, settings: Settings) -> Embedder:
    """The embedder that a generation's row remembers, loaded once a process."""
    return cached_embedder_for(generation.model_spec, generation.address, settings)


def _last_left(connection: Connection) -> Generation:
    left = {row.id: row.left_at for row in states.details(connection) if row.state == "previous" and not row.held}
    candidates = [generation for generation in generations.live_generations(connection) if generation.id in left]
    if not candidates:
        raise GenerationNotFound("there is no previous generation to go back to: see `vaultline generation list`")
    return max(candidates, key=lambda generation: str(left[generation.id]))


class _Busy(GenerationError):
    """Another promotion is going on."""


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    with database.connect(autocommit=True) as connection:
        if connection.execute("SELECT pg_try_advisory_lock(%s, %s)", _PROMOTION_LOCK).fetchone() != (True,):
            raise _Busy("another promotion is going on: wait for it to end")
        yield  # the lock ends with the connection
