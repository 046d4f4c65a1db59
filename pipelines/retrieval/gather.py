"""Both legs of one question, in the caller's transaction: everything that fusion and calibration look at."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.retrieval import words
from pipelines.retrieval.calibration import Calibration
from pipelines.retrieval.language import guess_language
from pipelines.retrieval.meaning import Meaning
from pipelines.retrieval.question import Question
from pipelines.settings import Settings
from pipelines.storage import search as storage
from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation
from pipelines.storage.search import Candidate, Term, Words

COMMON_ROWS = 1_000
"""Rows looked at for one driving query, however many hold it."""


_NONE = Words(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the legs found, by row. `holding` counts quoted phrases; `worded`: the question has words to look for."""

    candidates: tuple[Candidate, ...]
    coverages: Mapping[int, float]
    holding: Mapping[int, int]
    terms: tuple[Term, ...]
    chunks: Mapping[str, float]
    """Rows of each language of the index."""
    worth: Mapping[str, float]
    """What the question's words weigh together in each language."""
    language: str | None
    worded: bool
    embedded: bool

    @property
    def unheard(self) -> float:
        """Share of the question's words that no passage in its language holds, 0 to 1.

        Where the language is not known, a word counts as heard in whatever language it is.
        """
        heard: dict[int, bool] = {}
        for term in self._own:
            if not (term.code or term.part):
                for position in term.positions:
                    heard[position] = heard.get(position, False) or term.held_by > 0
        return sum(not known for known in heard.values()) / len(heard) if heard else 0.0

    @property
    def unknown_codes(self) -> int:
        """Codes and numbers of the question that no passage holds, at most 2: CRV-6001 where codes end at 4040."""
        missing = {term.lexeme for term in self._own if not term.held_by and any(map(str.isdigit, term.lexeme))}
        return min(2, len(missing))

    @property
    def _own(self) -> list[Term]:
        return [term for term in self.terms if term.language == self.language] or list(self.terms)


def gather(
    connection: Connection,
    generation: Generation,
    question: Question,
    meaning: Meaning | None,
    calibration: Calibration,
    settings: Settings,
) -> Gathered:
    """Ask both legs, or the one that the question's mode and the embedder leave."""
    limit = max(settings.search_candidates, 2 * question.k)
    terms, chunks = storage.question_terms(connection, generation, question.text)
    language = question.language or guess_language(question.text, terms, chunks.keys())
    vector, nearest = None, dict[int, float]()
    if meaning is not None:
        vector = meaning.without_common(language, calibration.of(language).common)
        nearest = storage.vector_candidates(connection, generation, vector, filters=question.filters, limit=limit)
    terms = words.telling_terms(terms, language if language in chunks else None)
    if doubtful := words.mistyped(terms):
        meant = storage.similar_terms(connection, generation, doubtful, least=words.LIKENESS)
        terms = [meant.get((term.language, term.lexeme), term) for term in terms]
    coverages: dict[int, float] = {}
    sums: dict[int, Words] = {}
    if question.mode != "vector" and any(term.held_by for term in terms):
        sums = storage.text_candidates(
            connection,
            generation,
            terms,
            words.driving_terms(terms),
            filters=question.filters,
            also=list(nearest),
            k1=words.K1,
            b=words.B,
            limit=max(3 * settings.search_candidates, limit),
            most=COMMON_ROWS,
        )
    worded = sorted(sums, key=lambda number: -sums[number].own)[:limit]
    candidates = storage.describe(
        connection,
        generation,
        list({*nearest, *worded}),
        vector=vector,
        measured=nearest,
        age_days=settings.search_age_days,
    )
    totals = words.totals(terms)
    for candidate in candidates:
        row = sums.get(candidate.id, _NONE)
        coverages[candidate.id] = words.coverage(row.own, row.shared, totals.get(candidate.language, 0.0))
    holding: dict[int, int] = {}
    if question.mode != "vector":
        for phrase in words.phrases(question.text):
            for number in storage.holding_phrase(connection, generation, worded, phrase):
                holding[number] = holding.get(number, 0) + 1
    return Gathered(
        candidates=tuple(candidates),
        coverages=coverages,
        holding=holding,
        terms=tuple(terms),
        chunks=chunks,
        worth=words.worth(terms),
        language=language,
        worded=bool(terms),
        embedded=vector is not None,
    )
