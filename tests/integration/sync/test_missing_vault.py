"""Promise 6: a scan that failed deletes nothing."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.errors import VaultShrank, VaultUnavailable
from pipelines.intake.look import look
from pipelines.resources.store import Store
from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]
NOBODY = 65534


@pytest.fixture
def twenty(vault: LivingVault) -> LivingVault:
    """Twenty notes in two folders, indexed."""
    for number in range(20):
        vault.write(f"{'ab'[number % 2]}/n{number}.md", note(f"Note {number}", f"Text {number}."))
    vault.sync()
    return vault


def _whole(vault: LivingVault) -> bool:
    return len(vault.sources()) == 20 and vault.value("SELECT count(*) FROM document") == 20


def test_a_root_that_is_gone_a_file_or_empty(twenty: LivingVault, converged: Converged) -> None:
    aside = twenty.root.with_name("aside")
    twenty.root.rename(aside)
    with pytest.raises(VaultUnavailable, match="does not exist"):
        twenty.sync()
    twenty.root.write_text("not a folder")
    with pytest.raises(VaultUnavailable, match="is not a folder"):
        twenty.sync()
    twenty.root.unlink()
    twenty.root.mkdir()  # as an empty mount point
    report = twenty.sync()
    assert report.exit_code == 0
    assert "20 documents of the index stay" in str(report.notice)
    assert _whole(twenty)

    report = twenty.sync(allow_deletes=True)
    assert report.documents["deleted"] == 20
    assert twenty.sources() == []
    twenty.root.rmdir()
    aside.rename(twenty.root)
    twenty.sync()
    assert _whole(twenty)
    converged(twenty)


def test_most_of_the_vault_gone_needs_a_word(twenty: LivingVault, converged: Converged) -> None:
    aside = twenty.root.with_name("aside")
    aside.mkdir()
    for number in range(12):
        shutil.move(twenty.path(f"{'ab'[number % 2]}/n{number}.md"), aside)
    for options in ({}, {"full": True}, {"folders": ["a"]}):
        with pytest.raises(VaultShrank, match="--allow-deletes") as raised:
            twenty.sync(**options)
        assert "12 of 20" in str(raised.value)
        assert _whole(twenty)
    assert twenty.sync(dry_run=True).documents["deleted"] == 12, "a dry run says what is missing"
    twenty.sync(allow_deletes=True)
    assert len(twenty.sources()) == 8
    converged(twenty)


def test_a_vault_that_moved_into_other_folders_is_not_gone(twenty: LivingVault, converged: Converged) -> None:
    twenty.move("a", "c")
    twenty.move("b", "d/e")
    assert twenty.sync().documents["moved"] == 20
    converged(twenty)


def test_a_few_deletions_need_no_word(twenty: LivingVault) -> None:
    for number in range(6):
        twenty.remove(f"{'ab'[number % 2]}/n{number}.md")
    assert twenty.sync().documents["deleted"] == 6


def test_a_root_that_vanishes_between_the_plan_and_the_run(
    twenty: LivingVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    twenty.write("a/new.md", note("New", "Text."))
    from pipelines import sync as module

    real = module.plan

    def plan(*arguments: object, **options: object) -> object:
        todo = real(*arguments, **options)  # type: ignore[arg-type]
        twenty.root.rename(twenty.root.with_name("aside"))
        twenty.root.mkdir()
        return todo

    monkeypatch.setattr(module, "plan", plan)
    with pytest.raises(VaultShrank):
        twenty.sync()
    assert _whole(twenty)


@pytest.mark.parametrize("fault", ["closed", "ignore file"])
def test_a_folder_that_cannot_be_listed_keeps_its_documents(
    twenty: LivingVault, fault: str, converged: Converged
) -> None:
    """Root may list every folder, so the look is another user's; what it saw is then applied by us."""
    if fault == "closed":
        twenty.path("a").chmod(0)
        seen = _look_without_rights(twenty)
        twenty.path("a").chmod(0o755)
        assert seen == {"unreadable": ["a"], "vanished": [], "files": 10}
        return
    os.mkfifo(twenty.path("a/.vaultignore"))  # which rules hold below it is unknown
    twenty.write("b/n1.md", note("Note 1", "Edited."))
    report = twenty.sync()
    assert report.documents["deleted"] == 0
    assert _whole(twenty)
    twenty.remove("a/.vaultignore")
    twenty.sync()
    converged(twenty)


def _look_without_rights(vault: LivingVault) -> object:
    with vault.database.connect() as connection:
        known = look(Store(vault.settings), connection).known
    rows = {row.source: [row.id, row.folder, row.size, row.mtime_ns, row.content_hash] for row in known.values()}
    for folder in (vault.root, *vault.root.parents):
        if folder == Path("/tmp"):
            break
        folder.chmod(folder.stat().st_mode | 0o055)
    code = (
        "import json, os, sys, encodings.idna, pathspec.patterns.gitignore.spec\n"
        "from pathlib import Path\n"
        "from pipelines.vault.changes import Known, find_differences\n"
        "from pipelines.vault.rules import ScanRules, media_types\n"
        "from pipelines.vault.scan import scan\n"
        "rows = json.load(sys.stdin)\n"
        "os.chdir('/')\n"
        f"if os.geteuid() == 0: os.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)\n"
        f"found = scan(Path({str(vault.root)!r}), rules=ScanRules(media_types(('.md',))))\n"
        "known = {s: Known(i, s, f, z, m, h, 2**62) for s, (i, f, z, m, h) in rows.items()}\n"
        "different = find_differences(found, known, now_ns=2**62, full_hash_ns=2**61)\n"
        "print(json.dumps({'unreadable': found.unreadable_folders, 'files': len(found.files),\n"
        "                  'vanished': [row.source for row in different.vanished]}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=json.dumps(rows), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
