"""Figures against values worked out by hand."""

import math

import pytest

from pipelines.retrieval.metrics import interval, ndcg, paired, recall, reciprocal_rank


def test_ranking_figures() -> None:
    found = [None, 0, None, 1]
    assert recall(found, 2, 1) == 0.0
    assert recall(found, 2, 2) == 0.5
    assert recall(found, 4, 10) == 0.5
    assert reciprocal_rank(found) == 0.5
    assert reciprocal_rank([None, None]) == 0.0
    ideal = 1 + 1 / math.log2(3)
    assert ndcg(found, 2, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert ndcg([0, 1], 2, 10) == 1.0
    assert ndcg([0, 0], 2, 10) == pytest.approx(1 / ideal)  # the same answer twice gains once
    assert ndcg([None] * 10 + [0], 1, 10) == 0.0


def test_intervals_hold_the_mean_and_shrink_with_more_questions() -> None:
    few, many = [0.0, 1.0] * 5, [0.0, 1.0] * 500
    low, high = interval(few)
    assert low < 0.5 < high
    narrow = interval(many)
    assert narrow[1] - narrow[0] < (high - low) / 3
    assert interval(few) == interval(few)
    assert all(map(math.isnan, interval([1.0])))


def test_paired_differences_see_what_means_hide() -> None:
    before = [0.1, 0.9, 0.4, 0.6] * 25
    after = [value + 0.05 for value in before]
    mean, low, high = paired(before, after)
    assert mean == pytest.approx(0.05)
    assert low > 0.04
    assert high < 0.06
