"""Averaging and refusing vectors."""

import numpy as np
import pytest

from pipelines.embedding.fake import fake_spec
from pipelines.embedding.protocol import Embeddings
from pipelines.embedding.vectors import cut_texts, is_blank, mean_by_owner, normalized, validated
from pipelines.errors import InvalidVectors

SPEC = fake_spec("demo-8")


def embeddings(rows: list[list[float]], **more: object) -> Embeddings:
    return Embeddings(np.array(rows, dtype=np.float32).reshape(len(rows), -1), np.ones(len(rows), np.int64), **more)


GOOD = [0.5] * 8


def test_good_vectors_pass() -> None:
    given = embeddings([GOOD, GOOD])
    assert validated(given, SPEC, texts=2) is given


@pytest.mark.parametrize(
    ("rows", "texts", "message"),
    [
        ([GOOD], 2, r"fake/demo-8.*\(1, 8\).*\(2, 8\)"),
        ([GOOD[:7]], 1, r"fake/demo-8.*8 numbers"),
        ([GOOD, [float("nan"), *GOOD[1:]]], 2, "fake/demo-8 gave 1 of 2 vectors that are not finite"),
        ([[float("inf"), *GOOD[1:]]], 1, "not finite"),
        ([GOOD, [0.0] * 8], 2, "fake/demo-8 gave 1 of 2 vectors that are zero"),
    ],
)
def test_bad_vectors_name_the_model(rows: list[list[float]], texts: int, message: str) -> None:
    with pytest.raises(InvalidVectors, match=message):
        validated(embeddings(rows), SPEC, texts=texts)


def test_refused_rows_may_be_zero() -> None:
    validated(embeddings([[0.0] * 8, GOOD], refused=((0, "blank"),)), SPEC, texts=2)


def test_normalising_keeps_what_validation_must_see() -> None:
    result = normalized(np.array([[3, 4], [0, 0], [float("nan"), 1]], dtype=np.float32))
    assert result[0] == pytest.approx([0.6, 0.8])
    assert not result[1].any()
    assert np.isnan(result[2]).any()


def test_mean_is_weighted_and_single_rows_are_untouched() -> None:
    rows = np.array([[1, 0], [0, 1], [0.1, 0.3]], dtype=np.float32)
    means = mean_by_owner(rows, owners=[0, 0, 2], weights=[3, 1, 9], count=4)
    assert means[0] == pytest.approx([0.75, 0.25])
    assert np.array_equal(means[2], rows[2])
    assert not means[[1, 3]].any()


@pytest.mark.parametrize("text", ["", " ", "\n\t", "​", "﻿\n", "\x00"])
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", ".", " ñ ", "🚒", "日"])
def test_not_blank(text: str) -> None:
    assert not is_blank(text)


class TestCutTexts:
    def test_enough_tokens_for_every_word(self) -> None:
        assert cut_texts(["one two", "three"], tokens=3) == set()

    def test_nothing_said(self) -> None:
        assert cut_texts(["one two"], tokens=0) == set()

    def test_the_long_one_was_cut(self) -> None:
        assert cut_texts(["one", "w " * 100, "two three"], tokens=23) == {1}

    def test_all_of_equal_length_were_cut(self) -> None:
        assert cut_texts(["w " * 50, "w " * 50], tokens=40) == {0, 1}
