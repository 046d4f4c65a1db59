"""`vaultline watch` as a process: saves are found without being asked for, faults are survived, it ends cleanly."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from pipelines.dagster_home import open_instance
from tests.integration.sync.conftest import dagster_template, new_database, new_home, vault
from tests.integration.sync.living_vault import LivingVault, note, start

__all__ = ["dagster_template", "new_database", "new_home", "vault"]

SECONDS = 60


def _until(what: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def watching(vault: LivingVault) -> Iterator["subprocess.Popen[str]"]:
    vault.write("a/uno.md", note("Uno", "The first text."))
    process = start(vault, "watch")
    _until(lambda: vault.sources() == ["a/uno.md"], process)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_saves_moves_and_deletions_are_followed(vault: LivingVault, watching: "subprocess.Popen[str]") -> None:
    vault.write("a/uno.md", note("Uno", "Another text."))
    _until(lambda: vault.found("Another text"), watching)
    temporary = vault.write("a/.uno.md.tmp", note("Uno", "Saved by replacing."))
    temporary.replace(vault.path("a/uno.md"))
    _until(lambda: vault.found("Saved by replacing"), watching)
    vault.move("a/uno.md", "nueva ñ/dos.md")
    _until(lambda: vault.sources() == ["nueva ñ/dos.md"], watching)
    assert vault.calls() == 3
    with open_instance(vault.settings) as instance:
        assert instance.get_runs_count() == 4, "every save's run is recorded"

    watching.send_signal(signal.SIGINT)
    output, errors = watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert "1 changed" in output
    assert "Traceback" not in errors


def test_uploads_are_followed_as_well(vault: LivingVault, watching: "subprocess.Popen[str]") -> None:
    inbox = vault.settings.vaultline_home / "uploads"
    part = inbox / ".upload-1.part"
    part.write_text(note("Plan", "Quokkas first."))
    part.rename(inbox / "plan.md")
    _until(lambda: vault.sources() == [".uploads/plan.md", "a/uno.md"], watching)
    (inbox / "plan.md").unlink()
    _until(lambda: vault.sources() == ["a/uno.md"], watching)


def test_a_vault_and_a_database_that_go_away_are_waited_for(
    vault: LivingVault, watching: "subprocess.Popen[str]"
) -> None:
    aside = vault.root.with_name("aside")
    vault.root.rename(aside)
    time.sleep(2.5)
    vault.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database()"
    )
    aside.rename(vault.root)
    vault.write("b/back.md", note("Back", "Here again."))
    _until(lambda: vault.sources() == ["a/uno.md", "b/back.md"], watching)
    watching.terminate()
    _, errors = watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert "does not exist" in errors
