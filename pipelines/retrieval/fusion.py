"""Two legs -> one order."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.storage.search import Candidate


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with what each leg says of it. `similarity` is a cosine, `coverage` goes from 0 to 1."""

    candidate: Candidate
    similarity: float
    coverage: float
    score: float


@dataclass(frozen=True, slots=True)
class Boosts:
    """What moves a score besides the legs. `language`: for passages in the question's language."""

    age: float
    language: float
    phrase: float


def fuse(
    candidates: Sequence[Candidate],
    coverages: Mapping[int, float],
    *,
    weight: float,
    language: str | None,
    holding: Mapping[int, int],
    boosts: Boosts,
) -> list[Scored]:
    """All candidates, best first: weight * cosine + (1 - weight) * coverage, then the boosts.

    Both parts are absolute: a cosine, and the share of the question's possible BM25 that a row reaches. A question
    whose words the index hardly knows has small coverages, and the vectors decide; nothing is blown up to 1 because it
    is the best of a bad lot. `holding` counts the quoted phrases that a row holds.
    """
    scored = []
    for candidate in candidates:
        similarity = max(0.0, candidate.similarity or 0.0)
        coverage = coverages.get(candidate.id, 0.0)
        score = weight * similarity + (1 - weight) * coverage
        score += boosts.phrase * holding.get(candidate.id, 0)
        score += boosts.language * (language is not None and candidate.language == language)
        score -= boosts.age * candidate.aged
        scored.append(Scored(candidate, similarity, coverage, score))
    scored.sort(key=lambda item: (-item.score, item.candidate.source, item.candidate.ordinal))
    return scored


def spread(ranked: Sequence[Scored], *, k: int, per_document: int) -> list[Scored]:
    """The first `k`, at most `per_document` of one document while others are left; then the places are filled up.

    What fills up stays behind, though its scores are higher: it would push other documents down again.
    """
    held: Counter[int] = Counter()
    first: list[Scored] = []
    rest: list[Scored] = []
    for item in ranked:
        document = item.candidate.document_id
        (first if held[document] < per_document else rest).append(item)
        held[document] += 1
    kept = first[:k]
    kept.extend(rest[: k - len(kept)])
    return kept
