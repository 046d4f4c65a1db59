"""What speaks for an answer, and what against: a few figures of the first results and of the question's words.

similarity  best cosine of the first results, less what the best of so many chunks has by chance
coverage    best share of the question's possible BM25 that one of them reaches
amount      the same without the question's length: one for what three of the rarest words are worth
unheard     share of the question's words that no chunk in its language holds
unknown     codes and numbers of the question that no chunk holds: CRV-6001 where codes end at 4040

A confidence weighs them (`calibration`). Each was kept because it helps on collections that it was not fitted on.
"""

import math
from collections.abc import Mapping, Sequence

from pipelines.retrieval.fusion import Scored
from pipelines.retrieval.gather import Gathered

LOOKED_AT = 3
"""Results among which the best figures are looked for."""

FIGURES = ("similarity", "coverage", "amount", "unheard", "unknown")

BY_CHANCE = 0.05
"""What the best cosine gains when a collection grows e-fold; measured on collections of 250 to 8,000 chunks."""

ENOUGH = 3.0
"""Rarest words' worth of BM25 from which more says nothing."""


def evidence(ranked: Sequence[Scored], gathered: Gathered, *, worded: bool) -> Mapping[str, float] | None:
    """The figures that there are, None where nothing was found. `worded`: the text leg was asked."""
    best = ranked[:LOOKED_AT]
    if not best:
        return None
    figures = {"unheard": gathered.unheard, "unknown": float(gathered.unknown_codes)}
    if gathered.embedded:
        chance = BY_CHANCE * math.log1p(sum(gathered.chunks.values()))
        figures["similarity"] = max(item.similarity for item in best) - chance
    if worded:
        figures["coverage"] = max(item.coverage for item in best)
        figures["amount"] = min(1.0, max(_rarest_words(item, gathered) for item in best) / ENOUGH)
    return figures


def _rarest_words(item: Scored, gathered: Gathered) -> float:
    """What a result holds of the question's words, in units of the rarest word."""
    language = item.candidate.language
    rarest = math.log1p(gathered.chunks.get(language, 0.0))
    return item.coverage * gathered.worth.get(language, 0.0) / rarest if rarest else 0.0
