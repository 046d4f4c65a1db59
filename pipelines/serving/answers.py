"""Answers of tools: whole records up to a size, fenced, with what to ask for next."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.retrieval.fence import escape, fence

Record = dict[str, Any]


def fit(records: Sequence[Record], *, most: int) -> list[Record]:
    """The first records whose lines have `most` characters together.

    At least one, its text cut where it is too large alone: then it says `"cut": true`.
    """
    kept: list[Record] = []
    room = most
    for record in records:
        size = len(escape(record)) + 1
        if size > room:
            break
        kept.append(record)
        room -= size
    return kept or [_cut(record, most) for record in records[:1]]


def answer(summary: str, records: Sequence[Mapping[str, Any]]) -> str:
    """Our own words first, then the data behind its fence."""
    return f"{summary}\n{fence(records)}" if records else summary


def cut_text(text: str, *, most: int) -> str:
    """The longest beginning of a text whose escaped form has `most` characters."""
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(escape(text[:middle])) <= most else (low, middle - 1)
    return text[:low]


def _cut(record: Record, most: int) -> Record:
    key = max(record, key=lambda name: len(str(record[name])))
    rest = len(escape(record | {key: "", "cut": True})) + 1
    return record | {key: cut_text(str(record[key]), most=max(0, most - rest)), "cut": True}
