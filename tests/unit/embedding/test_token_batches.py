"""Batches bounded by tokens."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.embedding.token_batches import pad_batch, padded, plan_batches


@given(
    lengths=st.lists(st.integers(min_value=1, max_value=512), max_size=200),
    max_tokens=st.integers(min_value=64, max_value=4096),
)
def test_every_sequence_once_and_no_batch_over_the_bound(lengths: list[int], max_tokens: int) -> None:
    batches = plan_batches(lengths, max_tokens=max_tokens)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        width = padded(max(lengths[index] for index in batch))
        assert len(batch) == 1 or len(batch) * width <= max_tokens


def test_longest_first() -> None:
    assert plan_batches([5, 200, 7, 100], max_tokens=256) == [[1], [3, 2], [0]]


def test_padding_of_sorted_lengths_is_small() -> None:
    random = np.random.default_rng(1)
    lengths = random.integers(3, 256, size=500).tolist()
    batches = plan_batches(lengths)
    total = sum(len(batch) * padded(max(lengths[index] for index in batch)) for batch in batches)
    assert total < 1.12 * sum(lengths)


def test_pad_batch() -> None:
    ids, mask = pad_batch([[1, 2, 3], [4]], max_length=256, pad_id=9)
    assert ids.shape == mask.shape == (2, 16)
    assert ids[1].tolist() == [4] + [9] * 15
    assert mask.sum(axis=1).tolist() == [3, 1]


def test_padding_never_passes_the_model_s_window() -> None:
    ids, _ = pad_batch([list(range(250))], max_length=250, pad_id=0)
    assert ids.shape == (1, 250)
