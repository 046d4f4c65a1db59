"""`vaultline search`, `eval` and `unanswered` as a person types them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pipelines.cli import commands

Run = Callable[..., Result]


@pytest.fixture
def run(index: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line on an index of two notes, with a vault of its own."""
    index.write("runbooks/valve.md", ["The valve of hall three opens at noon."], title="Valve")
    index.write("runbooks/depot.md", ["The depot closes at six in the evening."], title="Depot")
    vault = tmp_path / "vault"
    vault.mkdir(exist_ok=True)
    settings = index.settings
    for name, value in {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "VAULTLINE_HOME": str(settings.vaultline_home),
        "EMBEDDING_MODEL": settings.embedding_model,
        "VAULT_PATH": str(vault),
    }.items():
        monkeypatch.setenv(name, value)
    return lambda *words: CliRunner().invoke(commands, list(words), catch_exceptions=False)


def test_an_answer_for_people_cites_and_one_for_programs_is_one_document(run: Run) -> None:
    shown = run("search", "when does the valve open")
    assert shown.exit_code == 0
    assert "runbooks/valve.md:1" in shown.stdout
    assert "opens at noon" in shown.stdout
    assert json.loads(run("search", "when does the valve open", "--json").stdout)["answered"] is True


def test_what_found_no_answer_is_listed_and_becomes_a_draft_once(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        assert run("search", "who paints the zeppelin of eva@corp.example").stdout.startswith("No answer:")
    [item] = json.loads(run("unanswered", "list", "--json").stdout)
    assert item["times"] == 2
    assert "zeppelin" in item["question"]
    assert "corp.example" not in json.dumps(item)
    assert "zeppelin" in run("unanswered", "list").stdout
    [path] = run("unanswered", "export").stdout.splitlines()
    draft = Path(path)
    assert draft.parent == tmp_path / "vault" / "agent_learnings"
    assert "publish: false" in draft.read_text(encoding="utf-8")
    assert run("unanswered", "export").stdout == ""


def test_an_evaluation_is_compared_with_the_last_one(run: Run, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    lines = [
        {"question": "when does the valve open", "relevant": [{"source": "runbooks/valve.md"}]},
        {"question": "when does the depot close", "relevant": [{"source": "runbooks/depot.md"}]},
        {"question": "who paints the zeppelin", "relevant": [], "unanswerable": True},
    ]
    golden.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    first = json.loads(run("eval", str(golden), "--json").stdout)
    assert first["legs"]["hybrid"]["all"]["ndcg@10"] == 1.0
    assert first["legs"]["hybrid"]["all"]["false_answers"] == 0.0
    assert first["since_last"] == []
    second = json.loads(run("eval", str(golden), "--json").stdout)
    assert {item["mean"] for item in second["since_last"]} == {0.0}
    shown = run("eval", str(golden)).stdout
    assert "hybrid" in shown
    assert "since the last time" in shown
