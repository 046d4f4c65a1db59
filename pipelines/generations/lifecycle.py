"""Which generations there are and what is due: begin, abandon, build, promote, retire. Level-triggered from the tables.

none -> building -> active -> previous -> retired; from `previous` also back to active, by rollback or promotion.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from pipelines.embedding.canary import canary_vector
from pipelines.embedding.protocol import Embedder
from pipelines.generations import wishes
from pipelines.settings import Settings
from pipelines.storage import generation_states as states
from pipelines.storage import generations, switching
from pipelines.storage.database import Connection, Database, retry_conflicts
from pipelines.storage.generations import Generation

DAY = 86_400.0
_LOCK_TIMEOUT = "500ms"  # a new table refers to `document`, whose writers must not queue up behind us

EmbedderOf = Callable[[Generation], Embedder]


@dataclass(frozen=True, slots=True)
class Due:
    """What is left to do. `begin`: the wanted model has no generation. `build`: documents by folder that generations
    other than the active one lack. `promote`: complete, wanted, and not yet what search reads. `retire`: past its soak,
    or building for a model that is not wanted any more. `release`: a rollback's hold ends, another model is wanted."""

    begin: bool = False
    release: bool = False
    build: dict[str, int] = field(default_factory=dict)
    promote: int | None = None
    retire: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.begin or self.release or bool(self.build) or self.promote is not None or bool(self.retire)


def due(connection: Connection, settings: Settings, fingerprint: str) -> Due:
    """What is left to do when `fingerprint` is the wanted model's."""
    live = generations.live_generations(connection)
    say = wishes.has_say(connection, fingerprint)
    wanted = next((generation for generation in live if generation.fingerprint == fingerprint), None)
    serving = next((generation for generation in live if generation.state == "active"), None)
    abandoned = [item.id for item in live if say and item.state == "building" and item.fingerprint != fingerprint]
    begin = say and wanted is None and not states.is_held(connection, fingerprint=fingerprint)
    candidate = candidate_of(live, fingerprint) if say else None
    soaked = set(states.soaked(connection, seconds=settings.generation_soak_days * DAY))
    if candidate is not None:
        soaked.discard(candidate.id)  # wanted again: it is promoted, not dropped
    leaving = {*abandoned, *soaked}
    build: dict[str, int] = {}
    for generation in live:
        if generation is not serving and generation.id not in leaving:
            for folder, count in states.backlog(connection, generation.id).items():
                build[folder] = max(build.get(folder, 0), count)
    ready = candidate is not None and _is_complete(connection, candidate, serving)
    automatic = settings.generation_auto_promote or serving is None
    return Due(
        begin=begin,
        release=say and states.any_held(connection, fingerprint=fingerprint),
        build=build,
        promote=candidate.id if candidate and ready and automatic else None,
        retire=tuple(sorted(leaving)),
    )


def _is_complete(connection: Connection, candidate: Generation, serving: Generation | None) -> bool:
    """Whether a promotion would lose nothing. Edits in flight lack their rows everywhere: no reason to wait."""
    if serving is None:
        return generations.gaps(connection, candidate) == (0, 0)
    return states.lag(connection, candidate.id, than=serving.id) == 0


def candidate_of(live: list[Generation], fingerprint: str) -> Generation | None:
    """The generation of the wanted model if it is not yet active and may become so by itself."""
    for generation in live:
        if generation.fingerprint == fingerprint and generation.state != "active" and not generation.held:
            return generation
    return None


def ensure_wanted(database: Database, wanted: Embedder, *, asked: bool = False) -> list[Generation]:
    """Live generations, after adding a building one if the wanted model has none.

    A building one of another model is abandoned: the setting changed again half way. `asked`: begin also a model that
    was rolled back or stopped by hand, and release its hold. Raises as `Embedder.embed`: the canary is embedded first,
    so that a wrong key or an unknown model is said before anything is changed.
    """
    fingerprint = wanted.spec.fingerprint
    with database.connect() as connection:
        live = generations.live_generations(connection)
        if asked:
            wishes.renew(fingerprint)
        if not wishes.has_say(connection, fingerprint) or not _to_change(connection, live, fingerprint, asked=asked):
            return live
        known = any(generation.fingerprint == fingerprint for generation in live)
    canary = None if known else canary_vector(wanted)
    abandoned = [item.id for item in live if item.state == "building" and item.fingerprint != fingerprint]
    for number in abandoned:
        switching.retire(database, number, detail={"reason": f"{wanted.spec.name} is wanted instead"})

    def begin() -> list[Generation]:
        with database.connect() as connection:
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (_LOCK_TIMEOUT,))
            generations.take_switch_lock(connection)  # two runs at once must not both add it
            states.release_held(connection, fingerprint=fingerprint)
            live = generations.live_generations(connection)
            if not any(generation.fingerprint == fingerprint for generation in live):
                number = generations.add_generation(connection, spec=wanted.spec, address=wanted.address, canary=canary)
                states.record_event(connection, number, "begun", asked=asked)
            return generations.live_generations(connection)

    return retry_conflicts(begin)


def _to_change(connection: Connection, live: list[Generation], fingerprint: str, *, asked: bool) -> bool:
    if any(item.state == "building" and item.fingerprint != fingerprint for item in live):
        return True
    if states.any_held(connection, fingerprint=fingerprint):
        return True
    if any(item.fingerprint == fingerprint for item in live):
        return False
    return asked or not states.is_held(connection, fingerprint=fingerprint)
