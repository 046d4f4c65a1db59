"""Which generations a run writes, in which order, and whose failure is the run's.

An edit must reach search at once, and a new model's first build may take hours. So runs that follow edits (`changes`)
bring what serves up to date and give the others only what is new since they began; the backlog is for runs of its own
(`build`), which no edit waits for. All writing is level-triggered: what one run leaves, the next one finds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pipelines.storage.generations import Generation


class Scope(Enum):
    """What a run is for."""

    ALL = "all"
    CHANGES = "changes"
    BUILD = "build"


@dataclass(frozen=True, slots=True)
class Target:
    """A generation to write.

    `since`: only documents of revisions after it. `must`: its failure fails the run; otherwise it is noted with the
    generation and the run goes on. `waits`: for texts that another worker has claimed.
    """

    generation: Generation
    since: int = -1
    must: bool = True
    waits: bool = True


def targets(live: Sequence[Generation], scope: Scope) -> list[Target]:
    """Generations to embed for, the one that serves first."""
    serving = next((generation for generation in live if generation.state == "active"), None)
    if serving is None:  # the first one: there is nothing that it could keep waiting
        return [Target(generation) for generation in live]
    others = sorted(
        (generation for generation in live if generation is not serving), key=lambda item: item.state == "building"
    )
    if scope is Scope.BUILD:
        return [Target(generation, must=generation.state == "building") for generation in others]
    aside = [_aside(generation, scope) for generation in others]
    return [Target(serving), *aside]


def _aside(generation: Generation, scope: Scope) -> Target:
    building = generation.state == "building"
    if scope is Scope.ALL:
        return Target(generation, must=building)
    return Target(
        generation,
        since=generation.begun_at_revision if building else -1,
        must=False,
        waits=False,
    )


def publishing_order(found: Sequence[Target]) -> list[Target]:
    """The same, the one that serves last: nobody shows a document before those that may take over have it."""
    return sorted(found, key=lambda target: target.generation.state == "active")
