"""The cross-encoder's path, with a tiny model made on the spot: what it says is used, and a wrong name is explained."""

from pathlib import Path

import pytest

from pipelines.errors import ModelUnavailable
from pipelines.retrieval.fusion import Scored
from pipelines.retrieval.rerank import Reranker
from pipelines.storage.search import Candidate
from tests.cross_encoder import make_cross_encoder


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def _scored(number: int) -> Scored:
    candidate = Candidate(number, number, f"{number}.md", 0, "en", "en", False, 0.5)
    return Scored(candidate, similarity=0.5, coverage=0.5, score=1.0 - number / 10)


@pytest.mark.slow
def test_the_order_is_the_models(tiny_model: Path) -> None:
    reranker = Reranker(str(tiny_model))
    ranked = [_scored(number) for number in (1, 2, 3)]
    contents = ["the valve opens", "forklift", "valve opens noon valve opens noon"]
    judged = reranker.rerank("valve opens", ranked, contents)
    assert sorted(item.candidate.id for item in judged) == [1, 2, 3]
    assert [item.score for item in judged] == sorted((item.score for item in judged), reverse=True)
    assert all(0.0 <= item.score <= 1.0 for item in judged)
    alone = {item.candidate.id: item.score for item in judged}
    again = reranker.rerank("valve opens", list(reversed(ranked)), list(reversed(contents)))
    assert {item.candidate.id: item.score for item in again} == pytest.approx(alone, abs=1e-5)
    assert reranker.rerank("valve", [], []) == []


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="RERANK_MODEL"):
        Reranker(str(tmp_path / "missing")).rerank("q", [_scored(1)], ["c"])
