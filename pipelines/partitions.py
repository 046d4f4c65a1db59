"""A partition is a folder of the vault; `vault.folders` turns a source into its key."""

from collections.abc import Sequence

import dagster as dg

FOLDERS = dg.DynamicPartitionsDefinition(name="vault_folders")

ONE_RUN = dg.BackfillPolicy.single_run()
"""One run for any number of folders: a first load of 20 folders in 20 runs would pay Dagster's start 20 times.

What differs between documents (failures, staleness) is told by our tables, so a run's one data version loses nothing.
"""

_GAP = 3
"""Unchanged folders that are cheaper taken along in a range (about 0.13 s each) than a run more (about 0.5 s)."""


def register(instance: dg.DagsterInstance, keys: Sequence[str]) -> list[str]:
    """Add the folders that Dagster does not know yet, sorted; returns those."""
    known = set(instance.get_dynamic_partitions(str(FOLDERS.name)))
    new = sorted(set(keys) - known)
    if new:
        instance.add_dynamic_partitions(str(FOLDERS.name), new)
    return new


def forget(instance: dg.DagsterInstance, keys: Sequence[str]) -> list[str]:
    """Delete the partitions of folders that have no document any more, in Dagster's own order; returns those."""
    gone = [key for key in instance.get_dynamic_partitions(str(FOLDERS.name)) if key not in set(keys)]
    for key in gone:
        instance.delete_dynamic_partition(str(FOLDERS.name), key)
    return gone


def ranges(instance: dg.DagsterInstance, keys: Sequence[str]) -> list[tuple[str, str]]:
    """Cover folders by few ranges of Dagster's order (which is the order of insertion), first and last key each."""
    order = list(instance.get_dynamic_partitions(str(FOLDERS.name)))
    places = sorted(order.index(key) for key in set(keys))
    covered: list[tuple[int, int]] = []
    for place in places:
        if covered and place - covered[-1][1] <= _GAP + 1:
            covered[-1] = (covered[-1][0], place)
        else:
            covered.append((place, place))
    return [(order[first], order[last]) for first, last in covered]


def range_tags(first: str, last: str) -> dict[str, str]:
    """Run tags that select a range of folders."""
    if first == last:
        return {"dagster/partition": first}
    return {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
