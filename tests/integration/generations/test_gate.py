"""The gate: what keeps a generation back, what lets it through all the same, and what is written down."""

import json
from pathlib import Path

import pytest

from pipelines.errors import GateNotPassed
from pipelines.generations import gate, promotion
from pipelines.generations.gate import Verdict
from pipelines.generations.promotion import Promotion
from tests.integration.generations.conftest import Bench

A, B = "fake/a-64", "fake/b-64"
ZEROED = "UPDATE knowledge_g2 SET embedding = array_fill(0, ARRAY[64])::vector WHERE source = 'folder0/note0.md'"


@pytest.fixture
def ready(bench: Bench) -> Bench:
    """B is built beside A and waits."""
    bench.seed()
    bench.work(A)
    bench.work(B, generation_auto_promote=False)
    return bench


def _verdict(bench: Bench) -> dict[str, bool]:
    generation = bench.generation(B)
    settings = bench.under(B)
    found = gate.examine(
        bench.database, generation, settings, embedder=lambda: promotion.embedder_of(generation, settings)
    )
    return {check.name: check.passed for check in found.checks}


def _promote(bench: Bench, **options: str) -> Promotion:
    return promotion.promote(bench.database, bench.under(B), bench.generation(B).id, **options)  # type: ignore[arg-type]


def test_every_check_is_asked_and_the_verdict_is_stored(ready: Bench) -> None:
    done = _promote(ready)
    assert [check.name for check in done.verdict.checks] == list(gate.CHECKS)
    assert done.verdict.passed
    stored = ready.value("SELECT gate FROM generation WHERE id = 2")
    assert stored["passed"]
    assert stored["against"] == 1
    assert "question_milliseconds" in stored["checks"][2]["figures"]
    assert gate.from_json(2, stored).checks == done.verdict.checks


def test_a_missing_vector_keeps_it_back(ready: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_SETTLE", 0.0)
    ready.execute(
        "DELETE FROM embedding WHERE ctid = (SELECT min(ctid) FROM embedding WHERE fingerprint = %s)",
        ready.generation(B).fingerprint,
    )
    with pytest.raises(GateNotPassed, match="complete: 0 documents and 1 vectors are missing"):
        _promote(ready)
    assert ready.states() == {A: "active", B: "building"}
    assert _verdict(ready) == {"complete": False, "valid": True}, "what is costly is not asked any more"


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE knowledge_g2 SET embedding = NULL WHERE source = 'folder0/note0.md'", "vectors missing: 1"),
        (ZEROED, "vectors zero: 1"),
        ("DELETE FROM knowledge_g2 WHERE source = 'folder0/note0.md'", "counts documents: 1"),
        ("UPDATE knowledge_g2 SET text_hash = 'x' WHERE source = 'folder0/note0.md'", "orphans count: 1"),
    ],
)  # fmt: skip
def test_damaged_rows_keep_it_back(ready: Bench, damage: str, problem: str) -> None:
    ready.execute(damage)
    with pytest.raises(GateNotPassed, match=problem):
        _promote(ready)
    assert ready.states()[A] == "active"


def test_a_changed_model_keeps_it_back(ready: Bench) -> None:
    foreign = ready.value("SELECT canary::text FROM generation WHERE model = %s", A)
    ready.execute("UPDATE generation SET canary = %s::vector WHERE model = %s", foreign, B)
    assert not _verdict(ready)["model"]


def test_small_languages_are_searched_exactly(ready: Bench) -> None:
    done = promotion.promote(ready.database, ready.under(B, gate_recall=1.0), 2)
    recall = done.verdict.checks[3]
    assert recall.name == "recall"
    assert recall.figures["recall@10 en"] == 1.0


@pytest.mark.slow
def test_an_index_that_finds_too_little_keeps_it_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """HNSW exists from 2,000 rows of a language on. It is spoilt here: rows are taken out of it behind its back."""
    bench.seed(5)
    with bench.database.connect() as connection:
        bench.put(connection, "folder0/long.md", *(f"passage {n} says w{n % 97} and w{n % 89}" for n in range(2_500)))
    bench.work(A)
    bench.work(B, generation_auto_promote=False)
    with pytest.raises(GateNotPassed, match=r"recall: HNSW finds too few neighbours: recall@10 is 0\.\d+ for en"):
        promotion.promote(bench.database, bench.under(B, gate_recall=1.0), 2, by=_spoil(bench, monkeypatch))
    assert bench.states()[A] == "active"
    monkeypatch.undo()
    done = promotion.promote(bench.database, bench.under(B), 2)
    assert done.verdict.checks[3].figures["recall@10 en"] >= 0.95
    assert (
        bench.value("SELECT count(*) FROM pg_indexes WHERE tablename = 'knowledge_g2' AND indexdef LIKE '%%hnsw%%'")
        == 1
    )


def _spoil(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> str:
    from pipelines.storage import search

    monkeypatch.setattr(search, "_EF_SEARCH", 1)  # the index then looks at one row where it should look at a hundred
    return "test"


def test_an_override_switches_and_is_recorded(ready: Bench) -> None:
    ready.execute(ZEROED)
    done = _promote(ready, override="we know this note")
    assert done.overridden
    assert ready.states() == {A: "previous", B: "active"}
    assert ready.value("SELECT gate ->> 'overridden' FROM generation WHERE id = 2") == "we know this note"
    event, detail = ready.rows(
        "SELECT event, detail FROM generation_event WHERE generation_id = 2 ORDER BY id DESC LIMIT 1"
    )[0]
    assert event == "overridden"
    assert detail["reason"] == "we know this note"
    assert "zero: 1" in detail["gate"]


def test_an_override_does_not_lose_documents(ready: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_SETTLE", 0.0)
    ready.execute("DELETE FROM publication WHERE generation_id = 2 AND document_id = (SELECT min(id) FROM document)")
    with pytest.raises(GateNotPassed, match="lacks 1 documents of the active one"):
        _promote(ready, override="never mind")
    assert ready.states()[A] == "active"


def test_a_verdict_that_did_not_pass_stands_until_something_changes(
    ready: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready.execute(ZEROED)
    fingerprint = ready.generation(B).fingerprint
    first = promotion.promote_due(ready.database, ready.under(B), fingerprint)
    assert isinstance(first, Verdict)
    asked = ready.value("SELECT gate ->> 'at' FROM generation WHERE id = 2")

    def never(*arguments: object, **options: object) -> Verdict:
        raise AssertionError("the gate was asked again")

    with monkeypatch.context() as patch:
        patch.setattr(gate, "examine", never)
        again = promotion.promote_due(ready.database, ready.under(B), fingerprint)
    assert isinstance(again, Verdict)
    assert again.at == asked
    vector = ready.value("SELECT vector::text FROM embedding WHERE fingerprint = %s LIMIT 1", fingerprint)
    ready.execute("UPDATE knowledge_g2 SET embedding = %s::vector WHERE source = 'folder0/note0.md'", vector)
    ready.edit("folder0/note1.md", "Another text, so that the verdict is about something else.")
    ready.work(B)
    assert ready.states() == {A: "previous", B: "active"}


def _golden(tmp_path: Path, bench: Bench) -> Path:
    """Questions that words answer: the first note's, the second note's ..."""
    path = tmp_path / "golden.jsonl"
    lines = [
        {
            "question": f"word{n}x1 word{n}x2 word{n}x3",
            "locale": "en",
            "relevant": [{"source": f"folder{n % 2}/note{n}.md"}],
        }
        for n in range(6)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_quality_is_compared_on_the_golden_set(ready: Bench, tmp_path: Path) -> None:
    settings = ready.under(B, golden_set=_golden(tmp_path, ready))
    done = promotion.promote(ready.database, settings, 2)
    quality = done.verdict.checks[-1]
    assert quality.name == "quality"
    assert quality.figures["ndcg@10 en"] == 1.0
    assert quality.figures["change all"] == 0.0
    assert quality.figures["questions en"] == 6
    calibration = ready.value("SELECT calibration FROM generation WHERE id = 2")
    assert "*" in calibration["languages"], "thresholds of its own, which switch with it"
    assert ready.value("SELECT calibration FROM generation WHERE id = 1") == {}


def test_worse_answers_keep_it_back(ready: Bench, tmp_path: Path) -> None:
    """B's rows answer every question with another note: the texts and lexemes of its table are turned around."""
    ready.execute(
        "UPDATE knowledge_g2 k SET content = o.content, title = 'x', search = o.search, embedding = o.embedding "
        "FROM knowledge_g2 o WHERE o.document_id = 7 - k.document_id"
    )
    settings = ready.under(B, golden_set=_golden(tmp_path, ready))
    with pytest.raises(
        GateNotPassed, match=r"quality: ndcg@10 of the fused result .* lower than generation 1's: all -"
    ):
        promotion.promote(ready.database, settings, 2)
    assert ready.states()[A] == "active"


def test_a_golden_set_that_cannot_be_read_keeps_it_back(ready: Bench, tmp_path: Path) -> None:
    with pytest.raises(GateNotPassed, match="could not be measured"):
        promotion.promote(ready.database, ready.under(B, golden_set=tmp_path / "nowhere.jsonl"), 2)
