"""The passages of one turn, numbered: what an answer may cite and nothing else."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipelines.retrieval.passage import Passage

FULL = 80
"""Passages of one turn; what is found after that is not shown to the model."""


@dataclass(frozen=True, slots=True)
class Citable:
    """A passage with its number in this turn, or a document of a list, which has no `ordinal`, lines or text."""

    n: int
    source: str
    ordinal: int | None
    title: str
    section: str
    lines: tuple[int, int] | None
    pages: tuple[int, int] | None
    text: str
    score: float
    locale: str

    def to_json(self) -> dict[str, Any]:
        """One of `sources` in the event."""
        return {
            "n": self.n,
            "id": f"c{self.n}",
            "source": self.source,
            "title": self.title,
            "section": self.section,
            "lines": None if self.lines is None else list(self.lines),
            "pages": None if self.pages is None else list(self.pages),
            "text": self.text,
            "score": round(self.score, 6),
            "locale": self.locale,
        }

    def reference(self) -> dict[str, Any]:
        """What is stored of it: where it stands and the hash of its text, never the text."""
        return {
            "n": self.n,
            "source": self.source,
            "ordinal": self.ordinal,
            "lines": None if self.lines is None else list(self.lines),
            "pages": None if self.pages is None else list(self.pages),
            "hash": "" if self.ordinal is None else text_hash(self.text),
            "score": round(self.score, 6),
            "locale": self.locale,
        }


class Shelf:
    """Numbers passages from 1 in the order in which they were found; a passage found again keeps its number."""

    def __init__(self) -> None:
        self._citables: dict[tuple[str, int | None], Citable] = {}
        self._by_number: dict[int, Citable] = {}

    def __iter__(self) -> Iterator[Citable]:
        return iter(self._by_number.values())

    def __len__(self) -> int:
        return len(self._by_number)

    def get(self, number: int) -> Citable | None:
        """The passage of a number, or None for an invented one."""
        return self._by_number.get(number)

    def add(self, passages: Iterable[Passage]) -> list[Citable]:
        """The passages with their numbers, without those that find no place any more."""
        found = []
        for passage in passages:
            key = (passage.source, passage.ordinal)
            if key not in self._citables and len(self) < FULL:
                self._put(
                    Citable(
                        n=len(self) + 1,
                        source=passage.source,
                        ordinal=passage.ordinal,
                        title=passage.title,
                        section=passage.section,
                        lines=None if passage.pages else passage.lines,
                        pages=passage.pages,
                        text=passage.content,
                        score=passage.score,
                        locale=passage.locale,
                    )
                )
            if key in self._citables:
                found.append(self._citables[key])
        return found

    def add_document(self, source: str, title: str, locale: str) -> Citable | None:
        """A document of a list with its number."""
        key = (source, None)
        if key not in self._citables and len(self) < FULL:
            self._put(Citable(len(self) + 1, source, None, title, "", None, None, "", 1.0, locale))
        return self._citables.get(key)

    def holds(self, address: str) -> bool:
        """Whether a web address stands in a passage, word for word."""
        return any(address in citable.text for citable in self)

    def references(self) -> list[dict[str, Any]]:
        """What is stored of all of them."""
        return [citable.reference() for citable in self]

    def _put(self, citable: Citable) -> None:
        self._citables[citable.source, citable.ordinal] = citable
        self._by_number[citable.n] = citable


def text_hash(text: str) -> str:
    """SHA-256 of a passage's text in hexadecimal, as the statement `chat_passages` computes it."""
    return hashlib.sha256(text.encode()).hexdigest()
