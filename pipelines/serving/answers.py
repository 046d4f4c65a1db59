"""Answers of tools: whole records up to a size, fenced, with what to ask for next."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.retrieval.fence import escape, fence

Record = dict[str, Any]

SNIPPET = 600
"""Characters of a snippet."""


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


def snippet(content: str, query: str) -> str:
    """The part of a passage that holds most of a question's words, between ellipses where something is left out."""
    if len(content) <= SNIPPET:
        return content
    folded = _folded(content)
    words = {word for word in _folded(query).split() if len(word) > 2}
    starts = {0} | {max(0, folded.find(word) - SNIPPET // 4) for word in words if word in folded}
    best = max(sorted(starts), key=lambda start: sum(word in folded[start : start + SNIPPET] for word in words))
    start = min(best, len(content) - SNIPPET)
    if start > 0 and (blank := content.find(" ", start, start + 40)) >= 0:
        start = blank + 1
    end = min(len(content), start + SNIPPET)
    if end < len(content) and (blank := content.rfind(" ", end - 40, end)) > start:
        end = blank
    return ("… " if start else "") + content[start:end] + (" …" if end < len(content) else "")


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


def _folded(text: str) -> str:
    """Lower case without accents, character by character, so that places stay the same."""
    return "".join(
        char if char.isascii() else unicodedata.normalize("NFD", char)[0].lower()[:1] for char in text.lower()
    )
