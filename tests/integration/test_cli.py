"""The command line as other people's scripts use it: one JSON document on stdout, exit codes, no traceback."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pipelines import cli
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from tests.integration.sync.living_vault import LivingVault, note, start

SYNC = {
    "documents": {"seen", "added", "changed", "moved", "deleted", "unchanged", "excluded", "quarantined"},
    "parsed": {"computed", "reused", "ocr_pages"},
    "chunks": {"total", "added", "removed"},
    "embeddings": {"computed", "reused", "truncated", "tokens"},
}
RESULT = {
    *("source", "ordinal", "section", "lines", "pages", "content"),
    *("score", "similarity", "locale", "modified_at", "citation"),
}


@pytest.fixture(scope="module")
def vault(template_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingVault]:
    """One vault for the module. Tests that edit it leave it as it was, or synced."""
    folder = tmp_path_factory.mktemp("cli")
    maintenance = make_conninfo(template_url, dbname="postgres")
    name = f"test_cli_{os.getpid()}"
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {server.DATABASE}")
    (folder / "vault").mkdir()
    url = make_conninfo(template_url, dbname=name)
    settings = Settings.load(
        _env_file=None,
        vault_path=folder / "vault",
        vaultline_home=folder / "home",
        database_url=url,
        embedding_model="fake/test-64",
        embedding_fake_log=folder / "calls.jsonl",
    )
    made = LivingVault(settings, Database(url))
    made.write("guides/faro.md", "---\ntags: [mar]\n---\n" + note("Faro", "El faro guía a los barcos de noche."))
    made.write("guides/harbour.md", note("Harbour", "The harbour master keeps the list of ships."))
    made.write("top.md", note("Top", "A note at the top of the vault."))
    yield made
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def run(
    vault: LivingVault, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Run the command line in this process: exit code, stdout, stderr."""
    for name, value in _variables(vault.settings).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(vault.root.parent)
    monkeypatch.setattr(sys, "argv", ["vaultline", *arguments])
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    return int(ended.value.code or 0), out, err


def _variables(settings: Settings) -> dict[str, str]:
    assert settings.database_url is not None
    return {
        "VAULT_PATH": str(settings.vault_path),
        "VAULTLINE_HOME": str(settings.vaultline_home),
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "EMBEDDING_MODEL": settings.embedding_model,
    }


def one_document(out: str) -> Any:
    """The only thing on stdout: one JSON document, of finite numbers."""
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_sync_as_specified_and_a_second_one_does_nothing(vault: LivingVault) -> None:
    """As a process: nothing else may write to stdout, and what has nothing to do loads nothing heavy."""
    process = start(vault, "sync", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    report = one_document(out)
    assert set(report) == {"folders", *SYNC, "generations", "seconds"}
    assert {name: set(report[name]) for name in SYNC} == SYNC
    assert report["folders"] == ["_root", "guides"]
    assert (report["documents"]["added"], report["documents"]["seen"], report["chunks"]["total"]) == (3, 3, 3)
    assert report["embeddings"]["computed"] == 3
    [generation] = report["generations"]
    assert set(generation) == {"id", "model", "state", "chunks", "missing"}
    assert (generation["state"], generation["chunks"], generation["missing"]) == ("active", 3, 0)

    code = (
        "import sys; sys.argv = ['vaultline', 'sync', '--json']\n"
        "from pipelines import cli\n"
        "try: cli.main()\n"
        "except SystemExit as ended: print(ended.code, *sorted(sys.modules), file=sys.stderr)\n"
    )
    again = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **_variables(vault.settings)},
        cwd=vault.root.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert one_document(again.stdout)["folders"] == []
    exit_code, *modules = again.stderr.split()
    assert exit_code == "0"
    loaded = {name.split(".")[0] for name in modules}
    assert not loaded & {"dagster", "torch", "openvino", "pymupdf", "pandas", "sentence_transformers", "transformers"}


def test_status_as_specified(vault: LivingVault, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    code, out, _ = run(vault, monkeypatch, capfd, "status", "--json")
    report = one_document(out)
    assert code == 0
    assert {"vault", "documents", "chunks", "folders", "generations", "quarantine"} <= set(report)
    assert report["vault"] == str(vault.root)
    assert report["documents"] == {"indexed": 3, "excluded": 0, "quarantined": 0, "pending": 0}
    assert report["folders"] == [
        {"folder": "_root", "documents": 1, "chunks": 1, "pending": 0},
        {"folder": "guides", "documents": 2, "chunks": 2, "pending": 0},
    ]
    [generation] = report["generations"]
    assert {"id", "model", "dimensions", "state", "chunks", "missing"} <= set(generation)
    assert (generation["dimensions"], generation["state"]) == (64, "active")
    assert report["quarantine"] == []
    code, out, _ = run(vault, monkeypatch, capfd, "status")
    assert code == 0
    assert "3 indexed; 3 chunks" in out


def test_search_as_specified(vault: LivingVault, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    code, out, _ = run(vault, monkeypatch, capfd, "search", "faro de los barcos", "-k", "2", "--json")
    answer = one_document(out)
    assert code == 0
    assert {"query", "answered", "reason", "generation", "model", "results", "seconds"} <= set(answer)
    assert answer["query"] == "faro de los barcos"
    if answer["answered"]:
        first = answer["results"][0]
        assert set(first) >= RESULT
        assert first["source"] == "guides/faro.md"
        assert first["lines"][0] >= 1
        assert first["pages"] is None
    else:
        assert answer["results"] == []
        assert answer["reason"]
    code, out, err = run(vault, monkeypatch, capfd, "search", "   ", "--json")
    assert (code, out) == (2, "")
    assert "empty" in err
    code, out, _ = run(vault, monkeypatch, capfd, "search", "faro " * 20_000, "--json")
    assert code == 0
    one_document(out)


def test_quarantine_and_exit_code_3(vault: LivingVault, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    vault.write("guides/broken.pdf", b"%PDF-1.7\nnothing of it is true")
    code, out, _ = run(vault, monkeypatch, capfd, "sync", "--json")
    assert code == 3
    assert one_document(out)["documents"]["quarantined"] == 1
    code, out, _ = run(vault, monkeypatch, capfd, "quarantine", "list", "--json")
    [row] = one_document(out)
    assert set(row) == {"source", "stage", "reason", "since"}
    assert row["source"] == "guides/broken.pdf"
    code, out, _ = run(vault, monkeypatch, capfd, "status", "--json")
    assert one_document(out)["quarantine"] == [row]
    assert run(vault, monkeypatch, capfd, "sync", "--json")[0] == 3, "it is still there"
    code, out, _ = run(vault, monkeypatch, capfd, "quarantine", "retry", "guides/broken.pdf")
    assert (code, out.startswith("1 document")) == (0, True)
    code, out, _ = run(vault, monkeypatch, capfd, "sync", "--dry-run")
    assert "would process guides" in out
    vault.remove("guides/broken.pdf")
    assert run(vault, monkeypatch, capfd, "sync")[0] == 0
    code, out, _ = run(vault, monkeypatch, capfd, "quarantine", "list")
    assert "nothing is in quarantine" in out


def test_bad_vaults(vault: LivingVault, monkeypatch: pytest.MonkeyPatch, capfd: Any, tmp_path: Path) -> None:
    code, out, err = run(vault, monkeypatch, capfd, "sync", "--vault", str(tmp_path / "nowhere"), "--json")
    assert (code, out) == (2, "")
    assert "nowhere" in err
    code, out, err = run(vault, monkeypatch, capfd, "sync", "--folder", "nowhere")
    assert code == 2
    assert "no folder nowhere" in err
    (tmp_path / "empty").mkdir()
    code, out, err = run(vault, monkeypatch, capfd, "sync", "--vault", str(tmp_path / "empty"), "--json")
    assert code == 0
    assert one_document(out)["documents"]["deleted"] == 0
    assert "holds no documents" in err
    shutil.copytree(vault.root, tmp_path / "other")
    for number in range(3):
        (tmp_path / "other" / f"n{number}.md").write_text(note("Other", str(number)))
    shutil.rmtree(tmp_path / "other" / "guides")
    (tmp_path / "other" / "top.md").unlink()
    code, out, err = run(vault, monkeypatch, capfd, "sync", "--vault", str(tmp_path / "other"), "--json")
    assert (code, out) == (1, "")
    assert "--allow-deletes" in err
    assert len(vault.sources()) == 3


@pytest.mark.parametrize(
    ("variable", "value", "code", "said"),
    [
        ("DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:9/d", 1, "cannot reach the database at"),
        ("DATABASE_URL", "postgres:/half?x", 2, "DATABASE_URL"),
        ("EMBEDDING_MODEL", "nonsense", 2, "EMBEDDING_MODEL"),
        ("EMBEDDING_MODEL", "fake/test-2", 1, "fake/test-2"),
        ("EMBEDDING_MODEL", "sentence-transformers/no-such-model-here", 1, "no-such-model-here"),
    ],
)
def test_bad_settings(
    vault: LivingVault,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Any,
    variable: str,
    value: str,
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(
        sys.modules[__name__], "_variables", lambda settings, own=_variables: own(settings) | {variable: value}
    )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    vault.write("guides/harbour.md", note("Harbour", "The harbour master keeps the list of ships."))
    found, out, err = run(vault, monkeypatch, capfd, "sync", "--json")
    assert (found, out) == (code, "")
    assert said in err
    assert "hunter2" not in err
