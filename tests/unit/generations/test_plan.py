"""The arithmetic of an estimate."""

import pytest

from pipelines.generations.plan import hnsw_bytes


@pytest.mark.parametrize(("dimensions", "measured"), [(384, 1.328), (768, 1.331), (1024, 1.997)])
def test_hnsw_takes_what_was_measured(dimensions: int, measured: float) -> None:
    assert hnsw_bytes(dimensions) / (4 * dimensions + 8) == pytest.approx(measured, rel=0.02)


def test_beyond_what_can_be_indexed_there_is_no_index() -> None:
    assert hnsw_bytes(3072) == 8192
    assert hnsw_bytes(4001) == 0
