"""The lexical leg's choices: which of a question's terms propose candidates, how much of a question a row covers."""

import re
from collections import defaultdict
from collections.abc import Sequence

from pipelines.storage.search import Driving, Term

K1, B = 0.9, 0.4
"""BM25's saturation and length normalisation, as usual for passages of one size; measured in docs/retrieval.md."""

SHARED = 0.3
"""Share of the score that comes from the best rows of the whole document: a paragraph cut in two keeps its words."""

BUDGET = 1_000
"""Rows that the driving terms of one language may propose together. Terms are taken from the rarest on."""

LIKENESS = 0.4
"""Trigram similarity from which a word of the index is taken for what a mistyped word meant."""

LEAST_WORTH = 2.0
"""Weight of a word that a seventh of all rows hold. In a vault of a few notes, or of one topic, every word is common;
that must not make every question of it one without an answer."""

_QUOTED = re.compile(r"[\"“«]([^\"”»]{3,200})[\"”»]")


def telling_terms(terms: Sequence[Term], language: str | None) -> list[Term]:
    """Terms without the function words of the question's own language, which other languages take for rare words.

    An English index would otherwise answer "¿qué es esto?" with whatever notes quote a Spanish sentence.
    """
    if language is None:
        return list(terms)
    kept = {position for term in terms if term.language == language for position in term.positions}
    return [term for term in terms if term.code or term.part or not kept.isdisjoint(term.positions)]


def mistyped(terms: Sequence[Term]) -> list[Term]:
    """Words that no row of their language holds, long enough and of letters only: typing mistakes and cognates.

    A word that is right in the question's language is looked up like this in the others, where "repository" means
    "repositorio": the only bridge between languages that an English model does not build itself.
    """
    return [
        term
        for term in terms
        if not (term.held_by or term.code or term.part) and len(term.lexeme) >= 5 and term.lexeme.isalpha()
    ]


def driving_terms(terms: Sequence[Term], *, budget: int = BUDGET) -> list[Driving]:
    """The terms that propose candidates: the rarest of each language until their rows fill the budget.

    What a question says in common words is scored, but never looked up: the cost follows the rare terms. Where even the
    rarest is common, rows that hold the two rarest together are proposed as well.
    """
    chosen = []
    for language, held in _by_language(terms).items():
        total = 0
        taken = 0
        for term in held:
            total += term.held_by
            if taken and total > budget:
                break
            chosen.append(Driving(language, _quoted(term.lexeme), term.weight))
            taken += 1
        if taken == 1 and len(held) > 1:
            first, second = held[:2]
            both = f"{_quoted(first.lexeme)} & {_quoted(second.lexeme)}"
            chosen.append(Driving(language, both, second.weight))
    return chosen


def totals(terms: Sequence[Term]) -> dict[str, float]:
    """The most that BM25 can give a row of each language: every term, endlessly often.

    Words that no row holds count, because a row without them answers less of the question; codes that none holds do
    not, because every hyphen in a question makes one.
    """
    sums: dict[str, float] = defaultdict(float)
    for term in terms:
        if term.held_by or not term.code:
            sums[term.language] += term.weight * (K1 + 1)
    return dict(sums)


def worth(terms: Sequence[Term]) -> dict[str, float]:
    """What the words of `totals` weigh in each language, where no word weighs less than `LEAST_WORTH`."""
    sums: dict[str, float] = defaultdict(float)
    for term in terms:
        if term.held_by or not term.code:
            sums[term.language] += max(term.weight, LEAST_WORTH * (0.5 if term.part else 1.0) * term.likeness)
    return dict(sums)


def coverage(own: float, shared: float, total: float) -> float:
    """How much of a question a row covers, 0 to 1, from its BM25 sums."""
    return ((1 - SHARED) * own + SHARED * shared) / total if own and total else 0.0


def phrases(text: str) -> list[str]:
    """What stands in quotes, at most four of them. Quotes that are not closed are punctuation."""
    return [found.strip() for found in _QUOTED.findall(text)][:4]


def _by_language(terms: Sequence[Term]) -> dict[str, list[Term]]:
    grouped: dict[str, list[Term]] = defaultdict(list)
    for term in sorted(terms, key=lambda term: (term.held_by, term.lexeme)):
        if term.held_by:
            grouped[term.language].append(term)
    return grouped


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
