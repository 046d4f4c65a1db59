"""How much to trust each leg, and when to say that there is no answer: per generation and language.

A generation carries its calibration, learnt on a golden set by `calibration_fit`; without one, its model's family has
defaults that were measured on several collections (docs/retrieval.md says which), and unknown models a cautious prior.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from pipelines.retrieval.fusion import Scored
from pipelines.storage.generations import Generation

VERSION = 1

ANSWERED_FROM = 0.5
"""Confidence from which a question counts as answered."""

ANY = "*"
"""Language of questions that do not show theirs."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is trusted for questions in one language.

    `weight` is the vector leg's share of a score. A question counts as answered when the logistic of
    bias + similarity * (best cosine) + coverage * (best coverage) is at least one half.
    """

    weight: float
    bias: float
    similarity: float
    coverage: float

    def confidence(self, ranked: list[Scored], *, embedded: bool, worded: bool) -> float:
        """Probability, 0 to 1, that the best of these answer the question. A missing leg counts as its threshold."""
        if not ranked:
            return 0.0
        best = ranked[:_LOOKED_AT]
        similarity = max(item.similarity for item in best)
        coverage = max(item.coverage for item in best)
        if not embedded:
            similarity = self._without_words if self.similarity else 0.0
            return _logistic(self.bias + self.similarity * similarity + self.coverage * coverage)
        return _logistic(self.bias + self.similarity * similarity + self.coverage * coverage)

    @property
    def _without_words(self) -> float:
        return -self.bias / self.similarity / 2


_LOOKED_AT = 3


@dataclass(frozen=True, slots=True)
class Calibration:
    """Trust by language, with `*` for the rest."""

    languages: Mapping[str, Trust]
    learnt: bool = False

    def of(self, language: str | None) -> Trust:
        """Trust for questions in a language."""
        return self.languages.get(language or ANY) or self.languages[ANY]

    @classmethod
    def of_generation(cls, generation: Generation) -> Self:
        """What the generation's row remembers, or its model's defaults."""
        stored = generation.calibration
        if stored.get("version") == VERSION and ANY in stored.get("languages", {}):
            return cls({name: Trust(**trust) for name, trust in stored["languages"].items()}, learnt=True)
        model = generation.model.lower()
        for family, languages in _FAMILIES.items():
            if family in model:
                return cls(languages)
        return cls(_UNKNOWN)

    def to_json(self) -> dict[str, Any]:
        """What is stored with a generation."""
        return {"version": VERSION, "languages": {name: asdict(trust) for name, trust in self.languages.items()}}


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))


_ENGLISH = Trust(weight=0.5, bias=-100.0, similarity=0.0, coverage=0.0)
_FAMILIES: dict[str, dict[str, Trust]] = {
    "all-minilm-l6-v2": {
        "en": Trust(weight=0.5, bias=10.0, similarity=0.0, coverage=0.0),
        "es": Trust(weight=0.2, bias=10.0, similarity=0.0, coverage=0.0),
        ANY: Trust(weight=0.3, bias=10.0, similarity=0.0, coverage=0.0),
    }
}
_UNKNOWN = {ANY: Trust(weight=0.5, bias=10.0, similarity=0.0, coverage=0.0)}
