"""Figures for and against an answer, and the confidence that they give."""

import math

import pytest

from pipelines.retrieval.calibration import ANSWERED_FROM, ANY, Calibration
from pipelines.retrieval.evidence import BY_CHANCE, FIGURES, evidence
from pipelines.retrieval.fusion import Scored
from pipelines.retrieval.gather import Gathered
from pipelines.retrieval.words import worth
from pipelines.storage.search import Candidate, Term

CHUNKS = 1_000.0


def _term(lexeme: str, held_by: int, *, position: int = 1, language: str = "en", code: bool = False) -> Term:
    return Term(language, lexeme, () if code else (position,), code, False, CHUNKS, 100.0, held_by)


def _gathered(*terms: Term, language: str | None = "en", embedded: bool = True) -> Gathered:
    return Gathered(
        candidates=(),
        coverages={},
        holding={},
        terms=terms,
        chunks={"en": CHUNKS},
        worth=worth(terms),
        language=language,
        worded=bool(terms),
        embedded=embedded,
    )


def _scored(similarity: float, coverage: float) -> Scored:
    return Scored(Candidate(1, 1, "a.md", 0, "en", "en", False, similarity), similarity, coverage, 0.5)


def test_words_that_nobody_wrote_and_codes_that_nobody_gave() -> None:
    found = _gathered(_term("valv", 3), _term("elasticsearch", 0, position=2), _term("crv-6001", 0, code=True))
    assert found.unheard == 0.5
    assert found.unknown_codes == 1
    assert _gathered(_term("valv", 3), _term("valvul", 0, language="es")).unheard == 0.0, "its own language counts"
    nobody_knows = _gathered(_term("usuario", 60), _term("usuari", 0, language="es"), language=None)
    assert nobody_knows.unheard == 0.0, "a word that is heard in some language"
    assert _gathered().unheard == 0.0


def test_the_best_of_the_first_three() -> None:
    found = _gathered(_term("valv", 3))
    ranked = [_scored(0.2, 0.1), _scored(0.6, 0.3), _scored(0.1, 0.5), _scored(0.9, 0.9)]
    figures = evidence(ranked, found, worded=True)
    assert figures is not None
    assert set(figures) == set(FIGURES)
    assert figures["coverage"] == 0.5
    assert figures["similarity"] == pytest.approx(0.6 - BY_CHANCE * math.log1p(CHUNKS))


def test_the_amount_does_not_shrink_with_the_length_of_a_question() -> None:
    short, long = (_term("valv", 3),), (_term("valv", 3), _term("open", 10), _term("noon", 10))
    weights = [sum(term.weight for term in terms) for terms in (short, long)]
    amounts = []
    for terms, weight in zip((short, long), weights, strict=True):
        figures = evidence([_scored(0.5, short[0].weight / weight)], _gathered(*terms), worded=True)
        assert figures is not None
        amounts.append(figures["amount"])
    assert amounts[0] == pytest.approx(amounts[1])
    assert 0 < amounts[0] < 0.4


def test_common_words_of_a_small_vault_are_worth_something() -> None:
    everywhere = Term("en", "forklift", (1,), False, False, 24.0, 100.0, 24)
    assert everywhere.weight < 0.1
    assert worth([everywhere]) == {"en": 2.0}


def test_a_leg_that_was_not_asked_says_nothing() -> None:
    figures = evidence([_scored(0.5, 0.5)], _gathered(_term("valv", 3), embedded=False), worded=True)
    assert figures is not None
    assert "similarity" not in figures
    only_vectors = evidence([_scored(0.5, 0.5)], _gathered(_term("valv", 3)), worded=False)
    assert only_vectors is not None
    assert not {"coverage", "amount"} & set(only_vectors)
    assert evidence([], _gathered(), worded=True) is None


@pytest.mark.parametrize("model", ["sentence-transformers/all-MiniLM-L6-v2", "someone/unknown-model"])
@pytest.mark.parametrize("language", ["en", "es", None])
def test_defaults_weigh_each_figure_the_right_way(model: str, language: str | None) -> None:
    trust = Calibration.default(model).of(language)
    good = {"similarity": 0.3, "coverage": 0.6, "amount": 0.6, "unheard": 0.0, "unknown": 0.0}
    bad = {"similarity": 0.0, "coverage": 0.1, "amount": 0.1, "unheard": 0.5, "unknown": 0.0}
    assert trust.confidence(good) > ANSWERED_FROM > trust.confidence(bad)
    assert trust.confidence(None) == 0.0
    for name, worse in (("coverage", 0.2), ("amount", 0.2), ("unheard", 0.5), ("unknown", 2.0)):
        assert trust.confidence(good | {name: worse}) < trust.confidence(good), name
    words_alone = {name: value for name, value in good.items() if name != "similarity"}
    assert trust.confidence(words_alone) > ANSWERED_FROM, "what is usual stands in for a leg that is missing"


def test_a_calibration_comes_back_as_it_was_stored() -> None:
    default = Calibration.default("all-MiniLM-L6-v2")
    stored = default.to_json()["languages"]
    assert stored["es"]["common"] == default.of("es").common > 0
    assert type(default.of(ANY))(**stored[ANY]) == default.of(ANY)
