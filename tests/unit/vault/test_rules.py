"""What is a note by its name alone."""

from pathlib import Path

import pytest

from pipelines.errors import SettingsError
from pipelines.settings import Settings
from pipelines.vault.rules import ScanRules, foreign_folder, is_temporary, media_types, unwanted_copy


@pytest.mark.parametrize(
    "name",
    [
        ".x.md.swp",
        ".x.md.swo",
        "x.md~",
        "4913",
        "#x.md#",
        ".#x.md",
        "~$informe.pdf",
        "x.md.tmp",
        "x.TMP",
        "x.pdf.part",
        "x.pdf.crdownload",
        "~syncthing~x.md.tmp",
        "~syncthing~x.md",
        "x.md___jb_tmp___",
        ".x.md.kate-swp",
    ],
)
def test_names_that_editors_write_before_they_rename(name: str) -> None:
    assert is_temporary(name.encode())


@pytest.mark.parametrize(
    "name", ["x.md", "#topic.md", "C#.md", "4913.md", "tmp.md", "~home.md", "part.txt", "a # b.md"]
)
def test_names_of_notes_that_look_a_little_like_it(name: str) -> None:
    assert not is_temporary(name.encode())


@pytest.mark.parametrize(
    "name",
    [
        "nota.sync-conflict-20260101-101010-ABCDEFG.md",
        "nota.sync-conflict-20260101-101010.md",
        "nota (conflicted copy).md",
        "nota (Ana's conflicted copy 2026-01-01).md",
        "nota (MacBook de Ana's conflicted copy 2026-01-01) (1).md",
        "nota (Conflicted copy portátil 202601011010).md",
        "nota (Copia en conflicto de Ana 2026-01-01).md",
        "nota (copia conflictiva de Ana).md",
        "nota (SFConflict ana@example.org 2026-01-01-10-10-10).md",
        "nota (Case Conflict).md",
        "nota [conflicted].md",
        "nota [Conflict].md",
        "nota_conflict-20260101-101010.md",
    ],
)
def test_copies_of_sync_conflicts(name: str) -> None:
    assert unwanted_copy(name) == "a copy that a sync tool made of a conflict"


@pytest.mark.parametrize(
    "name",
    [
        "conflicts.md",
        "conflicted copy.md",
        "Merge conflict (how to).md",
        "How to resolve a conflicted copy (Dropbox).md",
        "resolución de conflictos.md",
        "sync-conflict-handling.md",
        "nota (copia).md",
        "nota (1).md",
    ],
)
def test_notes_about_conflicts_are_notes(name: str) -> None:
    assert unwanted_copy(name) is None


def test_drawings_are_no_notes() -> None:
    assert unwanted_copy("Esquema.excalidraw.md") == "an Excalidraw drawing"
    assert unwanted_copy("excalidraw.md") is None


@pytest.mark.parametrize("name", [b"node_modules", b"__pycache__", b"agent_learnings", b"Agent_Learnings", b"__MACOSX"])
def test_folders_that_hold_no_notes(name: bytes) -> None:
    assert foreign_folder(name)
    assert foreign_folder(name + b"_") is None


def test_extensions_are_taken_with_or_without_their_dot_and_in_any_case() -> None:
    assert media_types((".md", "PDF", " .Txt ", ".adoc", "canvas")) == {
        b".md": "markdown",
        b".pdf": "pdf",
        b".txt": "text",
        b".adoc": "text",
        b".canvas": "canvas",
    }


@pytest.mark.parametrize("extension", ["", ".", "a/b", ".tar.gz"])
def test_an_extension_that_is_none_is_named(extension: str) -> None:
    with pytest.raises(SettingsError, match="VAULT_EXTENSIONS"):
        media_types((extension,))


def test_rules_follow_the_settings(tmp_path: Path) -> None:
    settings = Settings(
        _env_file=None,  # type: ignore[call-arg]
        vaultline_home=tmp_path / "home",
        vault_extensions=("md",),
        vault_exclude=("drafts/", "*.bak.md"),
        vault_follow_links=True,
    )
    rules = ScanRules.from_settings(settings, tmp_path / "vault")
    assert rules == ScanRules({b".md": "markdown"}, ("drafts/", "*.bak.md"), tmp_path / "home", follow_links=True)


def test_vaultlines_home_cannot_be_the_vault(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="VAULTLINE_HOME is the vault itself"):
        ScanRules.from_settings(Settings(_env_file=None, vaultline_home=tmp_path), tmp_path / ".")  # type: ignore[call-arg]


def test_a_pattern_that_is_none_is_named(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, vaultline_home=tmp_path / "home", vault_exclude=("ok/", "!"))  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="VAULT_EXCLUDE: '!'"):
        ScanRules.from_settings(settings, tmp_path)
