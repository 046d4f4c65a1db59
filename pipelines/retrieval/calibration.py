"""How much to trust each leg, and when to say that there is no answer: per generation and language.

A generation carries its calibration, learnt on a golden set by `learning.calibrate`. Without one, its model family has
defaults that were measured on several collections (docs/retrieval.md says which), and unknown models a cautious prior.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from pipelines.retrieval.fusion import Scored
from pipelines.storage.generations import Generation

VERSION = 1

ANSWERED_FROM = 0.5
"""Confidence from which a question counts as answered."""

ANY = "*"
"""Language of questions that do not show theirs, and of languages that nothing was learnt about."""

LOOKED_AT = 3
"""Results among which the best cosine and the best coverage are looked for."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is trusted for questions in one language.

    `weight` is the vector leg's share of a score. The logistic of bias + similarity * (best cosine) + coverage * (best
    coverage) + unknown * (codes and numbers of the question that no passage holds) is the confidence in an answer.
    `usual_similarity` and `usual_coverage` stand in for a leg that is missing.
    """

    weight: float
    bias: float
    similarity: float
    coverage: float
    unknown: float
    usual_similarity: float
    usual_coverage: float

    def confidence(self, evidence: "Evidence") -> float:
        """Probability, 0 to 1, that what was found answers the question."""
        if not evidence.found:
            return 0.0
        similarity = self.usual_similarity if evidence.similarity is None else evidence.similarity
        coverage = self.usual_coverage if evidence.coverage is None else evidence.coverage
        value = (
            self.bias + self.similarity * similarity + self.coverage * coverage + self.unknown * evidence.unknown_codes
        )
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for an answer. `similarity` and `coverage` are the best ones, None where that leg was not asked."""

    found: bool
    similarity: float | None
    coverage: float | None
    unknown_codes: int


def evidence(ranked: Sequence[Scored], *, embedded: bool, worded: bool, unknown_codes: int) -> Evidence:
    """Look at the first results."""
    best = ranked[:LOOKED_AT]
    return Evidence(
        found=bool(best),
        similarity=max((item.similarity for item in best), default=0.0) if embedded else None,
        coverage=max((item.coverage for item in best), default=0.0) if worded else None,
        unknown_codes=unknown_codes,
    )


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
        return cls.default(generation.model)

    @classmethod
    def default(cls, model: str) -> Self:
        """What is known of a model's family; a prior for others."""
        return cls(next((known for family, known in _FAMILIES.items() if family in model.lower()), _UNKNOWN))

    def to_json(self) -> dict[str, Any]:
        """What is stored with a generation."""
        return {"version": VERSION, "languages": {name: asdict(trust) for name, trust in self.languages.items()}}


# Measured with `benchmarks/retrieval_quality.py --learn` on the golden sets of examples/ and tests/golden and on XQuAD,
# where each question was also asked of the collection without its paragraph. An English model reads Spanish by its
# cognates only: there the words decide.
_FAMILIES: dict[str, dict[str, Trust]] = {
    "all-minilm-l6-v2": {
        "en": Trust(
            0.5, bias=-4.1, similarity=4.4, coverage=7.8, unknown=-1.5, usual_similarity=0.5, usual_coverage=0.45
        ),
        "es": Trust(
            0.2, bias=-4.5, similarity=3.3, coverage=10.0, unknown=-2.0, usual_similarity=0.55, usual_coverage=0.4
        ),
        ANY: Trust(
            0.3, bias=-4.2, similarity=3.6, coverage=9.0, unknown=-1.5, usual_similarity=0.5, usual_coverage=0.4
        ),
    }
}

# Cosines of unknown models have unknown scales: words say whether there is an answer, and both legs rank alike.
_UNKNOWN = {
    ANY: Trust(0.5, bias=-2.2, similarity=0.0, coverage=9.0, unknown=-1.0, usual_similarity=0.5, usual_coverage=0.4)
}
