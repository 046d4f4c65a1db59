"""Evaluation and calibration against a small index, and what is kept of them."""
# ruff: noqa: S608  # table names are ours

import json
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pipelines.retrieval import history
from pipelines.retrieval.calibration import ANY, VERSION, Calibration
from pipelines.retrieval.evaluation import compare, evaluate, match
from pipelines.retrieval.golden import Relevant
from pipelines.retrieval.learning import calibrate
from pipelines.retrieval.searcher import Searcher

TOPICS = (
    "forklift", "valve", "invoice", "depot", "kafka", "postgres", "holiday", "badge", "printer", "backup", "router",
    "certificate", "webhook", "barcode", "pallet", "sensor", "contract", "password", "tunnel", "archive", "locker",
    "scanner", "turbine", "ledger",
)  # fmt: skip


@pytest.fixture
def golden(index: Any, tmp_path: Path) -> Path:
    """24 notes with a question each, and 8 questions that no note answers."""
    lines = []
    for number, topic in enumerate(TOPICS):
        source = f"notes/{topic}.md"
        index.write(source, [f"The {topic} of hall {number} is checked on Mondays.", f"{topic} history and owners."])
        relevant = [{"source": source, "contains": "Mondays"}]
        lines.append({"question": f"when is the {topic} checked", "locale": "en", "relevant": relevant})
    for word in ("zeppelin", "quokka", "haiku", "tango", "saffron", "glacier", "sonnet", "comet"):
        lines.append({"question": f"who paints a {word}", "locale": "en", "relevant": [], "unanswerable": True})
    path = tmp_path / "golden.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_figures_by_leg_and_locale(golden: Path, searcher: Searcher) -> None:
    evaluation = evaluate(searcher, golden)
    summary = evaluation.summary()
    assert summary["questions"] == 32
    assert summary["unanswerable"] == 8
    assert summary["recall@10"] == 1.0
    assert summary["ndcg@10"] > 0.9
    assert summary["false_answers"] == 0.0
    table = evaluation.table()
    assert table.index.tolist() == [(leg, locale) for leg in ("hybrid", "vector", "text") for locale in ("all", "en")]
    assert table.loc[("text", "en"), "ndcg@10"] > 0.9
    low, high = table.loc[("hybrid", "all"), ["ndcg@10 low", "ndcg@10 high"]]
    assert low <= summary["ndcg@10"] <= high
    document = json.loads(json.dumps(evaluation.to_json()))
    assert document["legs"]["hybrid"]["all"]["questions"] == 32
    assert document["generation"] == evaluation.generation


def test_a_worse_generation_is_seen_by_the_paired_comparison(golden: Path, index: Any, searcher: Searcher) -> None:
    before = evaluate(searcher, golden)
    broken = index.add_generation("fake/other-64")
    with index.database.connect() as connection:
        connection.execute(f"UPDATE {broken.table} SET content = 'nothing', text_hash = 'x' || id, section = ''")
        connection.execute(f"UPDATE {broken.table} SET embedding = (SELECT embedding FROM {broken.table} LIMIT 1)")
    after = evaluate(searcher, golden, generation=broken.id)
    assert after.generation == broken.id
    assert searcher.search("when is the valve checked").generation == before.generation
    found = {(item.figure, item.locale): item for item in compare(before, after)}
    assert found["ndcg@10", None].mean < -0.5
    assert found["ndcg@10", None].high < 0
    assert found["ndcg@10", "en"].questions == 24
    assert {item.mean for item in compare(before, before)} == {0.0}


def test_evaluations_are_kept_and_compared_with_the_last(golden: Path, index: Any, searcher: Searcher) -> None:
    first = history.record(index.database, evaluate(searcher, golden))
    assert first.before is None
    assert first.differences == ()
    second = history.record(index.database, evaluate(searcher, golden))
    assert second.number > first.number
    assert second.before is not None
    assert second.before.summary()["ndcg@10"] == pytest.approx(evaluate(searcher, golden).summary()["ndcg@10"])
    assert {item.figure for item in second.differences} >= {"ndcg@10", "rightly answered or refused"}
    assert history.last(index.database, "golden.jsonl", generation=999) is None


def test_one_question_has_no_interval_and_is_kept_all_the_same(golden: Path, index: Any, searcher: Searcher) -> None:
    """NaN is no JSON: neither Postgres nor the reader of `eval --json` takes it."""
    one = golden.with_name("one.jsonl")
    one.write_text(golden.read_text(encoding="utf-8").splitlines()[0], encoding="utf-8")
    history.record(index.database, evaluate(searcher, one))
    second = history.record(index.database, evaluate(searcher, one))
    assert second.before is not None
    printed = {**evaluate(searcher, one).to_json(), "since_last": [item.to_json() for item in second.differences]}
    assert json.loads(json.dumps(printed, allow_nan=False))["intervals"]["ndcg@10"] == [None, None]
    assert {(item["low"], item["mean"]) for item in printed["since_last"]} == {(None, 0.0)}


def test_a_calibration_is_learnt_stored_and_used(golden: Path, index: Any, searcher: Searcher) -> None:
    learnt = calibrate(searcher, golden)
    assert learnt["version"] == VERSION
    assert learnt["questions"] == 32
    with index.database.connect() as connection:
        connection.execute("UPDATE generation SET calibration = %s", (Jsonb(learnt),))
    summary = evaluate(searcher, golden).summary()
    assert summary["false_answers"] <= 0.1
    assert summary["false_refusals"] <= 0.1
    strict = {name: trust | {"bias": -50.0} for name, trust in learnt["languages"].items()}
    with index.database.connect() as connection:
        connection.execute("UPDATE generation SET calibration = %s", (Jsonb(learnt | {"languages": strict}),))
    assert not searcher.search("when is the valve checked").answered


def test_a_calibration_of_another_version_is_not_used(index: Any) -> None:
    with index.database.connect() as connection:
        connection.execute("UPDATE generation SET calibration = %s", (Jsonb({"version": 0, "languages": {ANY: {}}}),))
        generation = index._generation(connection, index.generation.id)
    assert Calibration.of_generation(generation) == Calibration.default("fake/test-64")


def test_sources_count_once_where_only_sources_are_asked_for(golden: Path, searcher: Searcher) -> None:
    passages = searcher.search("when is the valve checked", always=True).results
    relevant = [Relevant("notes/valve.md")]
    found = match(passages, relevant)
    assert found.count(0) == 1
    assert len(found) == len({passage.source for passage in passages})
    assert len(match(passages, [Relevant("notes/valve.md", None, "Mondays")])) == len(passages)
