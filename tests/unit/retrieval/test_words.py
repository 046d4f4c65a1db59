"""Which terms drive the candidates, and how much of a question a row covers."""

import pytest

from pipelines.retrieval.words import BUDGET, K1, coverage, driving_terms, mistyped, phrases, telling_terms, totals
from pipelines.storage.search import Term


def _term(lexeme: str, held_by: int, **fields: object) -> Term:
    base = {"language": "en", "positions": (1,), "code": False, "part": False, "chunks": 100_000.0, "length": 100.0}
    return Term(lexeme=lexeme, held_by=held_by, **(base | fields))  # type: ignore[arg-type]


def test_the_rarest_terms_drive_until_the_budget_is_full() -> None:
    terms = [_term("the", 90_000), _term("sync", 2_000), _term("rare", 5), _term("vault", 900), _term("gone", 0)]
    assert [item.query for item in driving_terms(terms)] == ["'rare'", "'vault'"]
    assert 5 + 900 <= BUDGET < 2_000


def test_one_common_word_is_asked_all_the_same_and_pairs_help() -> None:
    terms = [_term("vault", 60_000), _term("note", 50_000)]
    assert [item.query for item in driving_terms(terms)] == ["'note'", "'note' & 'vault'"]
    assert [item.query for item in driving_terms(terms[:1])] == ["'vault'"]
    assert driving_terms([_term("gone", 0)]) == []


def test_lexemes_are_quoted_as_data() -> None:
    assert driving_terms([_term("it's\\", 1)])[0].query == "'it''s\\\\'"


def test_rare_terms_weigh_more_and_nothing_weighs_less_than_nothing() -> None:
    weights = [_term("x", held).weight for held in (0, 1, 10, 1_000, 100_000, 200_000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] >= 0
    assert _term("x", 10, part=True).weight == pytest.approx(_term("x", 10).weight / 2)


def test_coverage_goes_from_nothing_to_one() -> None:
    terms = [_term("a", 10), _term("b", 10), _term("a-b", 0, code=True, positions=())]
    total = totals(terms)["en"]
    assert total == pytest.approx(2 * (K1 + 1) * terms[0].weight)  # a code that nothing holds is not missed
    assert coverage(total, total, total) == pytest.approx(1.0)
    assert coverage(0.0, 5.0, total) == 0.0  # a row without any of the words is not lifted by its neighbours
    assert coverage(1.0, 2.0, 0.0) == 0.0
    assert coverage(1.0, 1.0, total) < coverage(1.0, 3.0, total)


def test_function_words_of_the_own_language_tell_nothing_in_others() -> None:
    terms = [
        _term("que", 3, positions=(1,)), _term("kafka", 9, positions=(2,)),
        _term("kafk", 9, language="es", positions=(2,)), _term("v1", 2, code=True, positions=()),
    ]  # fmt: skip
    assert [term.lexeme for term in telling_terms(terms, "es")] == ["kafka", "kafk", "v1"]
    assert telling_terms(terms, None) == terms


def test_words_that_their_language_does_not_know_may_be_mistakes_or_cognates() -> None:
    terms = [
        _term("repositori", 0, language="es", positions=(1,)), _term("repositori", 4, positions=(1,)),
        _term("conplet", 0, positions=(2,)), _term("ocpa", 0, positions=(3,)), _term("v12345", 0, positions=(4,)),
        _term("conpletx", 0, code=True, positions=()),
    ]  # fmt: skip
    assert [(term.language, term.lexeme) for term in mistyped(terms)] == [("es", "repositori"), ("en", "conplet")]


def test_phrases_are_what_stands_in_closed_quotes() -> None:
    assert phrases('the "night shift" and «plan de noche» or “two words”') == [
        "night shift",
        "plan de noche",
        "two words",
    ]
    assert phrases('"not closed') == []
    assert phrases('""') == []
