"""Folders as Dagster partitions: registering, forgetting, and covering many by few ranges."""

from collections.abc import Iterator

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.partitions import FOLDERS, forget, range_tags, ranges, register

NAME = str(FOLDERS.name)


@pytest.fixture(scope="module")
def shared_instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def instance(shared_instance: dg.DagsterInstance) -> dg.DagsterInstance:
    for key in shared_instance.get_dynamic_partitions(NAME):
        shared_instance.delete_dynamic_partition(NAME, key)
    return shared_instance


def test_registering_twice_adds_nothing(instance: dg.DagsterInstance) -> None:
    assert register(instance, ["b", "a", "_root"]) == ["_root", "a", "b"]
    assert register(instance, ["a", "c"]) == ["c"]
    assert list(instance.get_dynamic_partitions(NAME)) == ["_root", "a", "b", "c"]


def test_folders_without_documents_are_forgotten(instance: dg.DagsterInstance) -> None:
    register(instance, ["a", "b", "c"])
    assert forget(instance, ["b", "elsewhere"]) == ["a", "c"]
    assert list(instance.get_dynamic_partitions(NAME)) == ["b"]
    register(instance, ["a"])
    assert list(instance.get_dynamic_partitions(NAME)) == ["b", "a"], (
        "who comes back comes last: order is not the alphabet"
    )


def test_near_folders_share_a_run_and_far_ones_do_not(instance: dg.DagsterInstance) -> None:
    keys = [f"f{number:02d}" for number in range(30)]
    register(instance, keys)
    assert ranges(instance, []) == []
    assert ranges(instance, ["f05"]) == [("f05", "f05")]
    assert ranges(instance, keys) == [("f00", "f29")]
    assert ranges(instance, ["f00", "f04"]) == [("f00", "f04")]
    assert ranges(instance, ["f00", "f05"]) == [("f00", "f00"), ("f05", "f05")]
    assert ranges(instance, ["f20", "f00", "f02", "f21"]) == [("f00", "f02"), ("f20", "f21")]


def test_ranges_follow_the_order_of_insertion(instance: dg.DagsterInstance) -> None:
    register(instance, ["m"])
    register(instance, ["z"])
    register(instance, ["a"])
    assert ranges(instance, ["a", "m"]) == [("m", "a")]


@given(st.sets(st.integers(0, 39)))
def test_every_wanted_folder_is_in_exactly_one_range(shared_instance: dg.DagsterInstance, wanted: set[int]) -> None:
    keys = [f"k{number:02d}" for number in range(40)]
    register(shared_instance, keys)
    order = list(shared_instance.get_dynamic_partitions(NAME))
    found = ranges(shared_instance, [keys[number] for number in wanted])
    covered = [key for first, last in found for key in order[order.index(first) : order.index(last) + 1]]
    assert len(covered) == len(set(covered))
    assert {keys[number] for number in wanted} <= set(covered)
    assert len(covered) <= 4 * max(1, len(wanted)), "few folders are taken along"


def test_tags_of_one_folder_and_of_a_range() -> None:
    assert range_tags("a", "a") == {"dagster/partition": "a"}
    assert range_tags("a", "b") == {
        "dagster/asset_partition_range_start": "a",
        "dagster/asset_partition_range_end": "b",
    }
