"""Noticing another model behind an unchanged name."""

from collections.abc import Callable

import numpy as np
import pytest

from pipelines.embedding.canary import CANARY_TEXT, canary_vector, same_space
from pipelines.embedding.factory import create_embedder
from pipelines.settings import Settings


def test_same_model_is_the_same_space(settings: Callable[..., Settings]) -> None:
    one, other = (canary_vector(create_embedder("fake/demo-64", settings())) for _ in range(2))
    assert one.shape == (64,)
    assert same_space(one, other)


def test_other_models_are_not(settings: Callable[..., Settings]) -> None:
    vectors = [canary_vector(create_embedder(f"fake/{name}", settings())) for name in ("one-64", "two-64", "one-128")]
    assert not same_space(vectors[0], vectors[1])
    assert not same_space(vectors[0], vectors[2])


def test_runtimes_may_differ_by_their_rounding() -> None:
    vector = np.full(384, 1 / np.sqrt(384), dtype=np.float32)
    noise = np.random.default_rng(1).normal(0, 0.0002, 384).astype(np.float32)
    assert same_space(vector, vector + noise)
    assert not same_space(vector, vector + 100 * noise)


def test_length_counts_as_well_as_direction() -> None:
    vector = np.full(8, 0.35, dtype=np.float32)
    assert not same_space(vector, 2 * vector)


@pytest.mark.parametrize("number", [0.0, float("nan"), float("inf")])
def test_what_is_no_vector_is_no_space(number: float) -> None:
    bad = np.full(8, number, dtype=np.float32)
    assert not same_space(bad, bad)


def test_canary_fits_every_window() -> None:
    assert len(CANARY_TEXT) < 200
