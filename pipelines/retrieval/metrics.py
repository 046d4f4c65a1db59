"""Figures of one question's results, and confidence intervals over many. Ranks count from 1; relevance is yes or no."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000


def recall(found: Sequence[int | None], answers: int, k: int) -> float:
    """Share of a question's answers among its first `k` results. `found` names the answer at each rank, or None."""
    return len({answer for answer in found[:k] if answer is not None}) / answers


def reciprocal_rank(found: Sequence[int | None]) -> float:
    """1 over the rank of the first answer, 0 if there is none."""
    return next((1 / rank for rank, answer in enumerate(found, start=1) if answer is not None), 0.0)


def ndcg(found: Sequence[int | None], answers: int, k: int) -> float:
    """Normalised discounted cumulative gain at `k` (Järvelin and Kekäläinen 2002), each answer counted once."""
    seen: set[int] = set()
    gain = 0.0
    for rank, answer in enumerate(found[:k], start=1):
        if answer is not None and answer not in seen:
            seen.add(answer)
            gain += 1 / math.log2(rank + 1)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(answers, k) + 1))


def interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean: what other questions of this kind would have given."""
    if len(values) < 2:
        return (math.nan, math.nan)
    low, high = np.quantile(_means(np.asarray(values, dtype=float), seed), [0.025, 0.975])
    return float(low), float(high)


def paired(before: Sequence[float], after: Sequence[float], *, seed: int = 0) -> tuple[float, float, float]:
    """Mean of the differences of the same questions, and its 95 % bootstrap interval."""
    differences = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    low, high = interval(differences.tolist(), seed=seed)
    return float(differences.mean()), low, high


def _means(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    picks = random.integers(0, len(values), size=(RESAMPLES, len(values)))
    means: NDArray[np.float64] = values[picks].mean(axis=1)
    return means
