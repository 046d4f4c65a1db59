"""What is left of a question's vector when what all questions in its language have in common is taken out."""

import numpy as np
import pytest

from pipelines.retrieval.meaning import TYPICAL, Meaning

SPANISH = np.array([3.0, 0.0, 0.0], dtype=np.float32)
QUESTION = np.array([0.8, 0.6, 0.0], dtype=np.float32)


def test_what_is_in_common_goes_and_the_length_stays_one() -> None:
    rest = Meaning(QUESTION, {"es": SPANISH / 5}).without_common("es", 1.0)
    assert np.linalg.norm(rest) == pytest.approx(1.0)
    assert rest[0] / rest[1] == pytest.approx(0.2 / 0.6, abs=1e-6)
    assert rest.dtype == np.float32


def test_topics_come_apart_that_a_language_held_together() -> None:
    other = np.array([0.8, 0.0, 0.6], dtype=np.float32)
    common = {"es": np.array([0.8, 0.0, 0.0], dtype=np.float32)}
    before = float(QUESTION @ other)
    after = float(Meaning(QUESTION, common).without_common("es", 0.65) @ other)
    assert before == pytest.approx(0.64)
    assert after < 0.4


@pytest.mark.parametrize(("language", "share"), [("en", 0.65), (None, 0.65), ("es", 0.0)])
def test_nothing_changes_where_nothing_is_known(language: str | None, share: float) -> None:
    assert Meaning(QUESTION, {"es": SPANISH}).without_common(language, share) is QUESTION


def test_a_question_that_is_nothing_but_common_stays_as_it_is() -> None:
    assert np.array_equal(Meaning(QUESTION, {"es": QUESTION}).without_common("es", 1.0), QUESTION)


def test_typical_questions_are_many_and_of_many_topics() -> None:
    for language, questions in TYPICAL.items():
        assert len(set(questions)) == len(questions) >= 30, language
