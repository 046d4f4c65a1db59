"""B28: thousands of files at once, a branch and back, and what Vaultline writes itself."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.intake.look import look
from pipelines.intake.plan import plan
from pipelines.resources.store import Store
from pipelines.storage import documents
from pipelines.storage.documents import FileVersion
from tests.integration.sync.living_vault import LivingVault, backdate, note

Converged = Callable[[LivingVault], None]
NOTES = 10_000


def _store_as_seen(vault: LivingVault, *, skip: int) -> None:
    """Rows as raw_files would write them, without the work of the other stages; the last `skip` files stay unknown."""
    from datetime import UTC, datetime

    with vault.database.connect() as connection:
        seen = look(Store(vault.settings), connection)
        files = list(seen.scan.files.values())
        for start in range(0, len(files) - skip, 2_000):
            documents.put_documents(
                connection,
                [
                    FileVersion(
                        source=file.source,
                        disk_path=file.disk_path,
                        folder=seen.folders[file.source],
                        media_type=file.media_type,
                        size=file.size,
                        mtime_ns=file.mtime_ns,
                        content_hash="0" * 32,
                        verified_ns=2**62,
                        modified_at=datetime.now(UTC),
                        modified_from="mtime",
                    )
                    for file in files[start : min(start + 2_000, len(files) - skip)]
                ],
            )


@pytest.mark.slow
def test_ten_thousand_notes_and_none_forgotten(vault: LivingVault) -> None:
    """What a sync looks at follows the change, not the vault: only the new files have to be read."""
    for folder in range(50):
        (vault.root / f"folder {folder}").mkdir()
    for number in range(NOTES):
        path = vault.root / f"folder {number % 50}" / f"note {number}.md"
        path.write_text(f"# {number}\n")
    backdate(vault.root.rglob("*.md"))
    with vault.database.connect() as connection:
        first = look(Store(vault.settings), connection)
    assert len(first.differences.to_read) == NOTES
    assert len(first.touched_folders()) == 50

    _store_as_seen(vault, skip=3)
    vault.path("folder 7/note 7.md").write_text("# Seven\n")
    with vault.database.connect() as connection:
        later = look(Store(vault.settings), connection)
    assert len(later.differences.to_read) == 4
    assert later.differences.unchanged == NOTES - 4
    assert not later.differences.vanished


def test_a_branch_and_back_costs_nothing_twice(vault: LivingVault, converged: Converged) -> None:
    def branch(name: str) -> None:
        for number in range(80):
            vault.write(f"f{number % 4}/{number}.md", note(f"Note {number}", f"Text {number} on {name}."))

    branch("main")
    vault.sync()
    calls = vault.calls()
    branch("feature")
    branch("main")
    report = vault.sync()
    assert report.folders == (), "the end is the start: no run at all"
    branch("feature")
    vault.sync()
    assert vault.calls() == calls + 80
    branch("main")
    report = vault.sync()
    assert report.documents["changed"] == 80
    assert vault.calls() == calls + 80, "the vectors of the way back are still there"
    converged(vault)


def test_its_own_files_inside_the_vault_are_no_change(
    vault: LivingVault, converged: Converged, dagster_template: Path
) -> None:
    home = vault.root / "vaultline-home"
    vault.settings.vaultline_home.rename(home)
    inside = vault.with_settings(vaultline_home=home)
    vault.write("note.md", note("Note", "Text."))
    vault.sync(settings=inside)
    (home / "export.md").write_text("# Written by Vaultline")
    report = vault.sync(settings=inside)
    assert report.folders == ()
    assert vault.sources() == ["note.md"]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose content is hashed."""
    from pipelines.intake import apply
    from pipelines.intake import look as looking
    from pipelines.vault import content

    seen: list[str] = []

    def hash_file(path: bytes, **options: bool) -> str:
        seen.append(Path(os.fsdecode(path)).name)
        return content.hash_file(path, **options)

    monkeypatch.setattr(apply, "hash_file", hash_file)
    monkeypatch.setattr(looking, "hash_file", hash_file)
    return seen


def test_a_large_file_is_hashed_once_not_at_every_look(vault: LivingVault, reads: list[str]) -> None:
    vault.write("big.txt", "x" * 100)
    with vault.path("big.txt").open("ab") as file:
        file.write(b"palabra " * 4_000_000)
    vault.write("small.md", note("Small", "Text."))
    backdate([vault.path("big.txt")])
    small = vault.with_settings(parse_max_characters=1_000)
    vault.sync(settings=small)
    assert reads.count("big.txt") == 1
    vault.write("small.md", note("Small", "Other text."))
    vault.sync(settings=small)
    assert vault.sync(settings=small).folders == ()
    assert reads.count("big.txt") == 1


def test_the_plan_of_a_first_load_names_every_folder(vault: LivingVault) -> None:
    for number in range(30):
        vault.write(f"folder, {number}/n.md", note("N", str(number)))
    store = Store(vault.settings)
    with vault.database.connect(autocommit=True) as connection:
        assert len(plan(store, connection).folders) == 30


def test_a_language_that_has_grown_gets_its_vector_index(vault: LivingVault, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the run that made it large, and in a later one, beside a generation that serves."""
    monkeypatch.setattr("pipelines.storage.knowledge_index.EXACT_ROWS", 5)
    indexes = "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%%USING hnsw%%'"
    for number in range(8):
        vault.write(f"en{number}.md", "---\nlang: en\n---\n" + note(f"Note {number}", f"Text {number}."))
    vault.sync()
    assert vault.value(indexes) == 1
    for number in range(8):
        vault.write(f"es{number}.md", "---\nlang: es\n---\n" + note(f"Nota {number}", f"Texto {number}."))
    vault.sync()
    assert vault.value(indexes) == 2
