"""`vaultline generation ...` as a person and a script call it."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pipelines.cli import commands
from tests.integration.generations.conftest import Bench

A, B = "fake/a-64", "fake/b-64"


@pytest.fixture
def vaultline(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings = bench.settings
    assert settings.database_url is not None
    monkeypatch.setenv("DATABASE_URL", settings.database_url.get_secret_value())
    monkeypatch.setenv("VAULTLINE_HOME", str(settings.vaultline_home))
    monkeypatch.setenv("VAULT_PATH", str(bench.root))

    def call(*arguments: str, model: str = A) -> Result:
        monkeypatch.setenv("EMBEDDING_MODEL", model)
        return CliRunner().invoke(commands, ["generation", *arguments], catch_exceptions=False)

    return call


def test_three_commands_change_the_model(bench: Bench, vaultline: Any) -> None:
    bench.seed()
    bench.work(A)
    plan = json.loads(vaultline("plan", "--json", model=B).stdout)
    assert (plan["model"], plan["texts"], plan["cached"], plan["state"]) == (B, 6, 0, "not begun")
    assert plan["cost_usd"] == 0.0
    assert plan["tokens"] > 0
    assert plan["minutes"] is None
    assert json.loads(vaultline("plan", B, "--measure", "--json").stdout)["minutes"] >= 0.0
    bench.work(B, generation_auto_promote=False)
    promoted = json.loads(vaultline("promote", "--json", model=B).stdout)
    assert (promoted["generation"], promoted["left"], promoted["overridden"]) == (2, 1, False)
    assert promoted["gate"]["passed"]
    back = json.loads(vaultline("rollback", "--json", model=B).stdout)
    assert (back["generation"], back["left"]) == (1, 2)
    listed = json.loads(vaultline("list", "--json").stdout)
    assert [(row["id"], row["state"], row["held"], row["chunks"]) for row in listed] == [
        (1, "active", False, 6),
        (2, "previous", True, 6),
    ]
    gone = json.loads(vaultline("retire", "2", "--json").stdout)
    assert gone["freed_bytes"] > 0
    assert gone["cache_bytes"] > 0


def test_people_read_sentences(bench: Bench, vaultline: Any) -> None:
    assert "there is none yet" in vaultline("list").output
    bench.seed()
    bench.work(A)
    text = vaultline("plan", model=B).output
    assert "to embed    6 texts" in text
    assert "nothing: the model runs on this machine" in text
    bench.work(B, generation_auto_promote=False)
    assert "passed  complete: every chunk has its vector" in vaultline("promote", "2").output
    assert "is held" in vaultline("rollback").output
    assert "held: not promoted by itself" in vaultline("list").output
    assert "MB are free again" in vaultline("retire", "2").output


def test_a_plan_for_a_hosted_model_calls_nobody_and_keeps_the_key(
    bench: Bench, vaultline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.seed()
    bench.work(A)
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-secret")
    monkeypatch.setenv("VOYAGE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("EMBEDDING_MAX_COST", "0.0")
    result = vaultline("plan", "voyage/voyage-3")
    assert "at $0.06 for a million tokens" in result.output
    assert "EMBEDDING_MAX_COST is $0" in result.output
    assert "pa-secret" not in result.output
