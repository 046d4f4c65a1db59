"""B23: texts are embedded as documents and questions as queries, whoever asks."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from pipelines.chunking.chunk import hash_text
from pipelines.cli import commands
from pipelines.embedding.canary import CANARY_TEXT
from pipelines.retrieval.evaluation import evaluate
from pipelines.retrieval.golden import GoldenQuestion, GoldenSet, Relevant
from pipelines.retrieval.searcher import Searcher
from pipelines.storage.database import Database
from tests.integration.generations.conftest import Bench

A, B = "fake/asymmetric-64", "fake/asymmetric-again-64"
QUESTION = "which note says word1x1 and word1x2"


def _roles(bench: Bench) -> dict[str, Counter[str]]:
    """Texts by the role in which they were sent, the canary apart."""
    log = bench.settings.embedding_fake_log
    assert log is not None
    sent: dict[str, Counter[str]] = {"document": Counter(), "query": Counter()}
    for line in log.read_text().splitlines():
        call = json.loads(line)
        sent[call["role"]].update(call["texts"])
    for counter in sent.values():
        del counter[hash_text(CANARY_TEXT)]
    return sent


def test_every_entry_point_keeps_the_roles_apart(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.seed(3)
    bench.work(A)
    texts = {hash_text(content) for (content,) in bench.rows("SELECT content FROM chunk")}
    searcher = Searcher(Database(bench.database.url), bench.under(A))
    searcher.search(QUESTION)
    searcher.search(QUESTION, mode="vector")
    golden = GoldenSet("g", (GoldenQuestion(1, QUESTION, "en", (Relevant("folder1/note1.md"),)),))
    evaluate(searcher, golden)
    searcher.close()
    bench.work(B)
    _by_command(bench, monkeypatch)
    sent = _roles(bench)
    assert set(sent["document"]) == texts, "no question was embedded as a document"
    assert set(sent["query"]) == {hash_text(QUESTION)}, "no text was embedded as a question"
    assert all(count == 2 for count in sent["document"].values()), "once for each model"


def _by_command(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bench.settings
    assert settings.database_url is not None
    for name, value in {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "VAULTLINE_HOME": str(settings.vaultline_home),
        "EMBEDDING_MODEL": B,
        "EMBEDDING_FAKE_LOG": str(settings.embedding_fake_log),
    }.items():
        monkeypatch.setenv(name, value)
    before = _roles(bench)["query"].total()
    result = CliRunner().invoke(commands, ["search", QUESTION, "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["model"] == B
    assert _roles(bench)["query"].total() > before
