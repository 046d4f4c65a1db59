"""Who is written by which run, in which order, and whose failure counts."""

from dataclasses import replace

import pytest

from pipelines.generations.scope import Scope, publishing_order, targets
from pipelines.storage.generations import Generation

ACTIVE = Generation(1, "fake/a-64", "a", {}, None, 64, "active", True, False, {}, 0)
BUILDING = replace(ACTIVE, id=2, fingerprint="b", state="building", begun_at_revision=40)
PREVIOUS = replace(ACTIVE, id=3, fingerprint="c", state="previous")
LIVE = [BUILDING, PREVIOUS, ACTIVE]


def test_an_edit_writes_what_serves_in_full_and_of_a_build_only_what_is_new() -> None:
    serving, previous, building = targets(LIVE, Scope.CHANGES)
    assert (serving.generation, serving.must, serving.since, serving.waits) == (ACTIVE, True, -1, True)
    assert (previous.generation, previous.must, previous.since, previous.waits) == (PREVIOUS, False, -1, False)
    assert (building.generation, building.must, building.since, building.waits) == (BUILDING, False, 40, False)


def test_a_build_leaves_what_serves_alone() -> None:
    found = targets(LIVE, Scope.BUILD)
    assert [(item.generation.id, item.since, item.must) for item in found] == [(3, -1, False), (2, -1, True)]


def test_a_run_by_hand_does_everything() -> None:
    found = targets(LIVE, Scope.ALL)
    assert [(item.generation.id, item.since, item.must) for item in found] == [
        (1, -1, True),
        (3, -1, False),
        (2, -1, True),
    ]


@pytest.mark.parametrize("scope", list(Scope))
def test_the_first_generation_is_everybodys_business(scope: Scope) -> None:
    (only,) = targets([BUILDING], scope)
    assert (only.since, only.must, only.waits) == (-1, True, True)


def test_what_serves_is_published_last() -> None:
    order = [item.generation.id for item in publishing_order(targets(LIVE, Scope.ALL))]
    assert order[-1] == ACTIVE.id


def test_nothing_live_nothing_to_do() -> None:
    assert targets([], Scope.ALL) == []
