"""The asset check on a golden set: the example vault's own questions, and answers that get worse."""

import json
import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.checks import good_answers
from pipelines.resources.store import Store
from pipelines.settings import Settings
from pipelines.storage.database import Database
from pipelines.sync import sync

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(settings: Settings, database: Database, tmp_path: Path) -> Settings:
    """The example vault's English notes, and the golden questions about them."""
    vault = tmp_path / "vault"
    sources = ("runbooks/aduana 429.md", "conventions/Naming.md", "adr/0009 No service mesh.md", "glossary/Acronyms.md")
    for source in sources:
        (vault / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES / "vault" / source, vault / source)
    golden = tmp_path / "golden.jsonl"
    lines = [json.loads(line) for line in (EXAMPLES / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [item for item in lines if {answer["source"] for answer in item["relevant"]} <= set(sources)]
    golden.write_text("\n".join(json.dumps(item) for item in kept[:30]), encoding="utf-8")
    found = settings.model_copy(update={"vault_path": vault, "golden_set": golden})
    sync(found)
    return found


def _check(settings: Settings) -> dg.AssetCheckResult:
    result: Any = good_answers(store=Store(settings))
    assert isinstance(result, dg.AssetCheckResult)
    return result


def test_it_measures_plots_and_does_not_measure_again_at_once(example: Settings, database: Database) -> None:
    first = _check(example)
    assert first.passed
    assert 0.0 < first.metadata["ndcg@10"].value <= 1.0  # type: ignore[operator]
    assert {"false_answers", "false_refusals", "recall@10", "mrr"} <= set(first.metadata)
    plot = str(first.metadata["plot"].value)
    assert plot.count("█") > 40
    assert {line.split("|")[1].strip() for line in plot.splitlines()[2:]} == {"hybrid", "vector", "text"}
    _check(example)
    with database.connect() as connection:
        count = connection.execute("SELECT count(*) FROM evaluation").fetchone()
    assert count == (1,), "the sync's own check measured already, and that was enough"


def test_answers_that_got_worse_are_a_warning(example: Settings, database: Database) -> None:
    _check(example)
    with database.connect() as connection:
        connection.execute("UPDATE evaluation SET measured_at = now() - interval '1 day'")
        connection.execute(
            "UPDATE knowledge_g1 SET content = 'nothing', title = '', section = '', text_hash = 'x' || id"
        )
        connection.execute("UPDATE knowledge_g1 SET embedding = (SELECT embedding FROM knowledge_g1 LIMIT 1)")
    second = _check(example)
    assert not second.passed
    assert second.severity == dg.AssetCheckSeverity.WARN
    assert "ndcg@10" in str(second.description)


def test_without_a_golden_set_it_costs_nothing(example: Settings, database: Database) -> None:
    with database.connect() as connection:
        connection.execute("DELETE FROM evaluation")
    assert _check(example.model_copy(update={"golden_set": None})).passed
    with database.connect() as connection:
        assert connection.execute("SELECT count(*) FROM evaluation").fetchone() == (0,)
