"""The command line without a database: help, versions, wrong use, and what becomes of errors."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

import pipelines
from pipelines import cli
from pipelines.errors import DatabaseUnavailable, VaultUnavailable

COMMANDS = ("sync", "search", "status", "db", "quarantine", "doctor", "env", "generation")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line in this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["vaultline", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def no_dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_version_and_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.strip() == f"vaultline, version {pipelines.__version__}"
    assert run(monkeypatch, "--help") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    for name in COMMANDS:
        assert run(monkeypatch, name, "-h") == 0
        assert capsys.readouterr().out.startswith("Usage: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("sync", "--nonsense"),
        ("search",),
        ("search", "q", "-k", "0"),
        ("search", "q", "--mode", "magic"),
    ],
)
def test_wrong_use_is_2_and_says_so_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Error: " in captured.err


@pytest.mark.parametrize("name", ["EMBEDDING_RUNTIME", "PARTITION_DEPTH", "MASS_DELETE_FRACTION"])
def test_a_setting_that_is_not_allowed_is_2_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv(name, "nonsense")
    assert run(monkeypatch, "status") == 2
    assert name in capsys.readouterr().err


def test_a_missing_vault_is_2_before_any_server_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("VAULTLINE_HOME", str(tmp_path / "home"))
    assert run(monkeypatch, "sync") == 2
    assert "VAULT_PATH" in capsys.readouterr().err
    assert run(monkeypatch, "sync", "--vault", str(tmp_path / "nowhere")) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
    (tmp_path / "file.md").write_text("x")
    assert run(monkeypatch, "sync", "--vault", str(tmp_path / "file.md"), "--json") == 2
    captured = capsys.readouterr()
    assert "file.md is not a folder" in captured.err
    assert captured.out == ""
    assert not (tmp_path / "home" / "postgres").exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DatabaseUnavailable("no answer"), 1),
        (VaultUnavailable("no vault"), 2),
        (KeyboardInterrupt(), 130),
        (click.UsageError("not like that"), 2),
        (BrokenPipeError(), 0),
    ],
)
def test_every_error_has_its_exit_code_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    @click.command()
    def broken() -> None:
        raise error

    monkeypatch.setitem(cli.commands.commands, "broken", broken)
    assert run(monkeypatch, "broken") == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_a_reader_that_closes_the_pipe_is_no_error(tmp_path: Path) -> None:
    """As in `vaultline --help | head -1`."""
    command = f"{sys.executable} -m pipelines.cli --help | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.startswith("Usage")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_env_prints_what_a_shell_can_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    home = tmp_path / "it's a home"
    monkeypatch.setenv("VAULTLINE_HOME", str(home))
    assert run(monkeypatch, "env") == 0
    lines = capsys.readouterr().out
    shown = subprocess.run(
        ["bash", "-c", f'{lines}\nprintf "%s|%s" "$DAGSTER_HOME" "$VAULTLINE_HOME"'], capture_output=True, text=True
    ).stdout
    assert shown == f"{home}/dagster|{home}"
    assert (home / "dagster" / "dagster.yaml").is_file()
