"""Two legs, one order."""

from pipelines.retrieval.fusion import Boosts, Scored, fuse, spread
from pipelines.storage.search import Candidate

NONE = Boosts(age=0.0, language=0.0, phrase=0.0)


def _candidate(number: int, *, document: int | None = None, **fields: object) -> Candidate:
    base = {"source": f"{number}.md", "ordinal": 0, "locale": "en", "language": "en", "aged": False, "similarity": 0.5}
    return Candidate(id=number, document_id=document or number, **(base | fields))  # type: ignore[arg-type]


def _order(scored: list[Scored]) -> list[int]:
    return [item.candidate.id for item in scored]


def test_the_weight_decides_between_the_legs() -> None:
    candidates = [_candidate(1, similarity=0.9), _candidate(2, similarity=0.1)]
    coverages = {1: 0.0, 2: 0.8}
    assert _order(fuse(candidates, coverages, weight=1.0, language=None, holding={}, boosts=NONE)) == [1, 2]
    assert _order(fuse(candidates, coverages, weight=0.0, language=None, holding={}, boosts=NONE)) == [2, 1]
    scores = [item.score for item in fuse(candidates, coverages, weight=0.5, language=None, holding={}, boosts=NONE)]
    assert scores == [0.45, 0.45]


def test_scores_are_absolute_and_never_blown_up() -> None:
    alone = fuse([_candidate(1, similarity=0.1)], {1: 0.1}, weight=0.5, language=None, holding={}, boosts=NONE)
    assert alone[0].score == 0.1


def test_boosts() -> None:
    candidates = [_candidate(1), _candidate(2, aged=True), _candidate(3, language="es"), _candidate(4)]
    boosts = Boosts(age=0.05, language=0.1, phrase=0.2)
    found = {
        item.candidate.id: round(item.score, 6)
        for item in fuse(candidates, {}, weight=1.0, language="en", holding={4: 1}, boosts=boosts)
    }
    assert found == {1: 0.6, 2: 0.55, 3: 0.5, 4: 0.8}


def test_no_vector_and_negative_cosines_count_as_nothing() -> None:
    found = fuse([_candidate(1, similarity=None), _candidate(2, similarity=-0.3)], {}, weight=1.0, language=None,
                 holding={}, boosts=NONE)  # fmt: skip
    assert [item.score for item in found] == [0.0, 0.0]


def test_a_document_has_three_places_while_others_wait() -> None:
    ranked = fuse(
        [_candidate(number, document=1, similarity=0.9 - number / 100) for number in range(1, 6)]
        + [_candidate(9, similarity=0.1)],
        {}, weight=1.0, language=None, holding={}, boosts=NONE,
    )  # fmt: skip
    assert _order(spread(ranked, k=4, per_document=3)) == [1, 2, 3, 9]
    assert _order(spread(ranked, k=6, per_document=3)) == [1, 2, 3, 9, 4, 5], (
        "what fills up comes last: the long document does not push the other one down"
    )
    assert _order(spread(ranked, k=2, per_document=3)) == [1, 2]
    assert spread([], k=5, per_document=3) == []
