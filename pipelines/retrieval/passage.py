"""What an answer is made of: passages with their places, and the result that holds them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Passage:
    """A found chunk. `lines` and `pages` are 1-based and inclusive; `pages` is None where the file has none.

    `score` orders the results of one answer, between 0 and 1 before the age penalty; scores of two questions cannot be
    compared. `similarity` is the cosine between question and passage under the generation's model, None where the
    question could not be embedded.
    """

    source: str
    ordinal: int
    section: str
    lines: tuple[int, int]
    pages: tuple[int, int] | None
    content: str
    score: float
    similarity: float | None
    locale: str
    modified_at: datetime
    title: str = ""
    folder: str = ""

    @property
    def citation(self) -> str:
        """Where a person finds the passage: path, lines or pages, and section."""
        if self.pages is not None:
            first, last = self.pages
            place = f" p. {first}" if first == last else f" pp. {first}-{last}"
        else:
            first, last = self.lines
            place = f":{first}" if first == last else f":{first}-{last}"
        return f"{self.source}{place}" + (f" ({self.section})" if self.section else "")

    def to_json(self) -> dict[str, Any]:
        """One of `results` in `search --json`."""
        return {
            "source": self.source,
            "ordinal": self.ordinal,
            "section": self.section,
            "lines": list(self.lines),
            "pages": None if self.pages is None else list(self.pages),
            "content": self.content,
            "score": round(self.score, 6),
            "similarity": None if self.similarity is None else round(self.similarity, 6),
            "locale": self.locale,
            "modified_at": self.modified_at.isoformat(),
            "citation": self.citation,
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to one question. `answered` is False when nothing is good enough; then there are no results.

    `reason` says why, or what a reader should know about an answer: a question that was cut, a leg that was missing.
    """

    query: str
    answered: bool
    reason: str | None
    generation: int
    model: str
    results: tuple[Passage, ...]
    seconds: float
    confidence: float = 1.0
    locale: str | None = None
    """Language of the question, given or found."""

    def to_json(self) -> dict[str, Any]:
        """The document of `search --json` and of `GET /api/search`."""
        return {
            "query": self.query,
            "answered": self.answered,
            "reason": self.reason,
            "generation": self.generation,
            "model": self.model,
            "results": [passage.to_json() for passage in self.results],
            "seconds": round(self.seconds, 6),
        }
