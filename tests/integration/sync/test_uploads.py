"""The folder of uploads as a second root: promises 1, 3 and 6 hold for it as for the vault, and for each by itself."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pipelines.dagster_home import open_instance
from pipelines.errors import SettingsError, VaultShrank, VaultUnavailable
from pipelines.settings import Settings
from pipelines.storage import documents
from pipelines.vault.folders import UPLOADS, UPLOADS_KEY
from pipelines.vault.uploads import MARK, prepare
from tests.integration.sync.living_vault import LivingVault, environment, long_note, note

Converged = Callable[[LivingVault], None]


@pytest.fixture
def shelf(vault: LivingVault, tmp_path: Path) -> LivingVault:
    """A vault of three notes and an empty folder of uploads beside it; `inbox` is that folder."""
    ready = LivingVault(vault.with_settings(uploads_path=tmp_path / "inbox"), vault.database)
    prepare(inbox(ready))
    for number in range(3):
        ready.write(f"a/n{number}.md", note(f"Note {number}", f"Text {number}."))
    ready.sync()
    return ready


def inbox(vault: LivingVault) -> Path:
    assert vault.settings.uploads_path is not None
    return vault.settings.uploads_path


def put(vault: LivingVault, name: str, text: str | bytes) -> Path:
    path = inbox(vault) / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def uploaded(vault: LivingVault) -> list[str]:
    return [source.removeprefix(f"{UPLOADS}/") for source in vault.sources() if source.startswith(f"{UPLOADS}/")]


def test_uploads_come_change_and_go_as_notes_do(shelf: LivingVault, converged: Converged) -> None:
    put(shelf, "plan.md", note("Plan", "Quokkas first."))
    put(shelf, "list.TXT", "wombats\n")
    put(shelf, "image.png", b"\x89PNG")
    (inbox(shelf) / "sub").mkdir()
    (inbox(shelf) / "sub" / "deep.md").write_text("deep")
    report = shelf.sync()
    assert report.folders == (UPLOADS_KEY,)
    assert (report.documents["added"], report.documents["seen"]) == (2, 5)
    assert uploaded(shelf) == ["list.TXT", "plan.md"]
    calls = shelf.calls()
    assert shelf.sync().folders == (), "a second sync finds nothing"

    put(shelf, "plan.md", note("Plan", "Numbats first."))
    (inbox(shelf) / "list.TXT").rename(inbox(shelf) / "lista ñ.txt")
    report = shelf.sync()
    assert (report.documents["changed"], report.documents["moved"], report.documents["deleted"]) == (1, 1, 0)
    assert shelf.calls() == calls + 1
    assert shelf.found("Quokkas") == []

    for path in inbox(shelf).glob("*.*"):
        path.unlink() if path.name != MARK else None
    assert shelf.sync().documents["deleted"] == 2, "all of them: the folder's mark says that it is there"
    assert uploaded(shelf) == []
    converged(shelf)


def test_a_file_moves_between_vault_and_uploads_at_no_cost(shelf: LivingVault, converged: Converged) -> None:
    put(shelf, "long.md", long_note("Long", 5))
    shelf.sync()
    calls = shelf.calls()
    shutil.move(inbox(shelf) / "long.md", shelf.path("a/long.md"))
    shelf.sync()
    assert uploaded(shelf) == []
    assert "a/long.md" in shelf.sources()
    shutil.move(shelf.path("a/n0.md"), inbox(shelf) / "n0.md")
    shelf.sync()
    assert uploaded(shelf) == ["n0.md"]
    assert shelf.calls() == calls
    converged(shelf)


def test_folders_of_the_vault_with_such_names_are_something_else(shelf: LivingVault) -> None:
    """A scan of the vault leaves out what a dot begins, so nothing of the vault can be called as an upload is."""
    put(shelf, "plan.md", note("Plan", "The upload."))
    shelf.write(".uploads/plan.md", note("Plan", "Hidden in the vault."))
    shelf.write("_uploads/plan.md", note("Plan", "A folder of the vault."))
    shelf.write("uploads/plan.md", note("Plan", "Another one."))
    shelf.sync()
    assert shelf.texts(".uploads/plan.md") == ["# Plan\n\nThe upload."]
    assert shelf.found("Hidden in the vault") == []
    assert {"_uploads/plan.md", "uploads/plan.md"} <= set(shelf.sources())
    folders = dict(shelf.rows("SELECT source, folder FROM document"))
    assert folders[".uploads/plan.md"] == UPLOADS_KEY
    assert folders["_uploads/plan.md"] != UPLOADS_KEY


def test_an_inbox_that_is_away_loses_nothing_and_holds_nothing_up(shelf: LivingVault, converged: Converged) -> None:
    put(shelf, "plan.md", note("Plan", "Quokkas."))
    shelf.sync()
    aside = inbox(shelf).with_name("aside")
    inbox(shelf).rename(aside)
    assert shelf.sync().folders == ()
    inbox(shelf).mkdir()  # as an empty mount point: it has no mark
    shelf.write("a/new.md", note("New", "The vault goes on."))
    shelf.sync()
    assert uploaded(shelf) == ["plan.md"]
    assert "a/new.md" in shelf.sources()
    inbox(shelf).rmdir()
    inbox(shelf).write_text("not a folder")
    assert shelf.sync().folders == ()
    inbox(shelf).unlink()
    shelf.sync(allow_deletes=True)
    assert uploaded(shelf) == []
    aside.rename(inbox(shelf))
    shelf.sync()
    assert uploaded(shelf) == ["plan.md"]
    converged(shelf)


def test_most_uploads_gone_at_once_needs_a_word_and_the_vault_none(shelf: LivingVault) -> None:
    settings = shelf.with_settings(mass_delete_minimum=3)
    for number in range(5):
        put(shelf, f"u{number}.md", note(f"Upload {number}", f"Words {number}."))
    shelf.sync(settings=settings)
    for number in range(3):
        (inbox(shelf) / f"u{number}.md").unlink()
    shelf.write("a/n0.md", note("Note 0", "Edited."))
    report = shelf.sync(settings=settings)
    assert (report.documents["changed"], report.documents["deleted"]) == (1, 0)
    assert len(uploaded(shelf)) == 5
    shelf.sync(settings=settings, allow_deletes=True)
    assert len(uploaded(shelf)) == 2


def test_uploads_are_indexed_while_the_vault_is_gone_or_empty(shelf: LivingVault, converged: Converged) -> None:
    put(shelf, "plan.md", note("Plan", "Quokkas."))
    aside = shelf.root.with_name("aside")
    shelf.root.rename(aside)
    with pytest.raises(VaultUnavailable):
        shelf.sync()
    assert shelf.sync(folders=[UPLOADS]).documents["added"] == 1
    assert shelf.sync(folders=[UPLOADS]).folders == ()
    shelf.root.mkdir()
    put(shelf, "more.md", note("More", "Numbats."))
    report = shelf.sync()
    assert "3 documents of the index stay" in str(report.notice)
    assert uploaded(shelf) == ["more.md", "plan.md"]
    assert len(shelf.sources()) == 5
    shelf.root.rmdir()
    aside.rename(shelf.root)
    converged(shelf)


def test_uploads_do_not_hide_the_loss_of_the_vault(shelf: LivingVault) -> None:
    settings = shelf.with_settings(mass_delete_minimum=2)
    for number in range(5):
        put(shelf, f"u{number}.md", note(f"Upload {number}", f"Words {number}."))
    shelf.sync(settings=settings)
    shelf.remove("a/n0.md")
    shelf.remove("a/n1.md")
    with pytest.raises(VaultShrank, match="2 of 3"):
        shelf.sync(settings=settings)


def test_links_and_leftovers_are_not_read(shelf: LivingVault, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("zanzibar")
    (inbox(shelf) / "leak.md").symlink_to(secret)
    (inbox(shelf) / ".upload-0011.part").write_text("zanzibar")
    (inbox(shelf) / "~$plan.md").write_text("zanzibar")
    (inbox(shelf) / ".gitignore").write_text("*.md\n")
    put(shelf, "plan.md", note("Plan", "Text."))
    shelf.sync(settings=shelf.with_settings(vault_follow_links=True))
    assert uploaded(shelf) == ["plan.md"], "ignore files are the vault's"
    assert shelf.found("zanzibar") == []


def test_roots_that_lie_in_each_other_are_refused(shelf: LivingVault, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(shelf.root)
    for wrong in (
        shelf.root,
        shelf.root / "inbox",
        shelf.root.parent,
        link / "inbox",
        shelf.root / ".." / "vault" / "x",
    ):
        with pytest.raises(SettingsError, match="lie in each other"):
            shelf.sync(settings=shelf.with_settings(uploads_path=wrong))
    inside = shelf.with_settings(uploads_path=None, vaultline_home=shelf.root / "home")
    from pipelines.vault.roots import uploads_root

    assert uploads_root(inside) is None, "the default place lies in the vault: no uploads, and no error"


@pytest.mark.slow
def test_killed_while_uploads_are_indexed(shelf: LivingVault, converged: Converged) -> None:
    for number in range(30):
        put(shelf, f"u{number}.md", long_note(f"Upload {number}", 3, seed=f"u{number}"))
    for wanted in (3, 20):
        process = start_uploads(shelf)
        while process.poll() is None and shelf.value("SELECT count(*) FROM parsed") < wanted + 3:
            time.sleep(0.01)
        process.kill()
        process.wait()
    put(shelf, "u0.md", note("Upload 0", "Edited meanwhile."))
    (inbox(shelf) / "u1.md").unlink()
    shelf.sync()
    assert len(uploaded(shelf)) == 29
    converged(shelf)


@pytest.mark.slow
def test_two_syncs_of_uploads_take_turns(shelf: LivingVault) -> None:
    """One holds its turn: the other waits, though nothing but Postgres knows of both."""
    put(shelf, "plan.md", note("Plan", "Text."))
    with shelf.database.connect(autocommit=True) as connection:
        assert documents.claim_uploads(connection)
        process = start_uploads(shelf)
        asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND starts_with(query, %s)"
        while shelf.value(asked, "SELECT pg_try_advisory_lock") < 2:  # ours, and the other one's
            assert process.poll() is None
            time.sleep(0.05)
        assert uploaded(shelf) == []
    assert process.wait(timeout=100) == 0
    assert uploaded(shelf) == ["plan.md"]
    with open_instance(shelf.settings) as instance:
        assert instance.get_runs_count() == 2


def start_uploads(vault: LivingVault) -> psutil.Popen:
    """`vaultline sync --folder .uploads` as a process of its own."""
    return psutil.Popen(
        [sys.executable, "-m", "pipelines.cli", "sync", "--folder", UPLOADS],
        env={**environment(vault.settings), "UPLOADS_PATH": str(inbox(vault))},
        cwd=vault.root.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_settings_reach_another_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server gives its settings to the process that indexes: all of them, secrets and lists too."""
    changed = settings.model_copy(
        update={
            "vault_exclude": ("a b/", "*.tmp"),
            "parse_keep_comments": True,
            "partition_buckets": 7,
            "embedding_max_cost": 1.5,
        }
    )
    for name, value in changed.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.load(_env_file=None) == changed
    assert all(name in os.environ for name in ("DATABASE_URL", "VAULT_PATH"))
