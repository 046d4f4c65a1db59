"""How much to trust each leg, and when to say that there is no answer: per generation and language.

A generation carries its calibration, learnt on a golden set by `learning.calibrate`. Without one, its model family has
defaults that were measured on several collections (docs/retrieval.md says which), and unknown models a cautious prior.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from pipelines.storage.generations import Generation

VERSION = 2

ANSWERED_FROM = 0.5
"""Confidence from which a question counts as answered."""

ANY = "*"
"""Language of questions that do not show theirs, and of languages that nothing was learnt about."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is trusted for questions in one language.

    `weight` is the vector leg's share of a score. The confidence in an answer is the logistic of `bias` and of the
    figures of `evidence`, each times its factor; `usual` figures stand in for those of a leg that was not asked.
    `common` is how much of what all questions in the language have in common is taken out of a question's vector
    (`meaning`).
    """

    weight: float
    bias: float
    factors: Mapping[str, float]
    usual: Mapping[str, float]
    common: float = 0.0

    def confidence(self, evidence: Mapping[str, float] | None) -> float:
        """Probability, 0 to 1, that what was found answers the question; 0 where nothing was found (None)."""
        if evidence is None:
            return 0.0
        figures = {name: evidence.get(name, self.usual.get(name, 0.0)) for name in self.factors}
        value = self.bias + sum(factor * figures[name] for name, factor in self.factors.items())
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))


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


# Fitted to the golden sets of examples/ and tests/golden and to XQuAD, each question of which was also asked of the
# collection without its paragraph. One set of factors serves all languages, because factors of each language were worse
# on collections that they had not seen (docs/retrieval.md). An English model reads Spanish by its cognates only: there
# the words weigh more in the order.
_FACTORS = {"similarity": 5.0, "coverage": 5.35, "amount": 5.3, "unheard": -4.3, "unknown": -2.3}
_FAMILIES: dict[str, dict[str, Trust]] = {
    "all-minilm-l6-v2": {
        "en": Trust(0.5, -2.9, _FACTORS, {"similarity": 0.27, "coverage": 0.5, "amount": 0.52}),
        "es": Trust(0.2, -3.0, _FACTORS, {"similarity": 0.17, "coverage": 0.44, "amount": 0.49}, common=0.65),
        ANY: Trust(0.3, -2.9, _FACTORS, {"similarity": 0.22, "coverage": 0.47, "amount": 0.51}),
    }
}

# Cosines of unknown models have unknown scales: words say whether there is an answer, and both legs rank alike. More is
# answered than balances the errors (-3.6): one common word is a question too.
_UNKNOWN = {
    ANY: Trust(
        0.5,
        -3.3,
        {"similarity": 0.0, "coverage": 5.6, "amount": 7.7, "unheard": -3.8, "unknown": -2.3},
        {"coverage": 0.47, "amount": 0.51},
    )
}
