"""Where vault, clone and uploads lie, and that none lies in another."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from pipelines.errors import SettingsError
from pipelines.settings import Settings
from pipelines.vault.folders import UPLOADS, UPLOADS_KEY, folder_key, folder_label, folder_of
from pipelines.vault.roots import holds, locate, uploads_root, vault_root
from pipelines.vault.uploads import MARK, is_marked, prepare, scan_uploads


def _settings(tmp_path: Path, **fields: object) -> Settings:
    return Settings.load(_env_file=None, vaultline_home=tmp_path / "home", **fields)


def test_a_managed_clone_is_a_vault(tmp_path: Path) -> None:
    url = SecretStr("https://git.example/team.git")
    assert vault_root(_settings(tmp_path, vault_git_url=url)) == tmp_path / "home" / "clone"
    assert vault_root(_settings(tmp_path, vault_git_url=url, vault_path=tmp_path / "v")) == tmp_path / "v"
    assert vault_root(_settings(tmp_path)) is None
    assert uploads_root(_settings(tmp_path, vault_git_url=url)) == tmp_path / "home" / "uploads"
    with pytest.raises(SettingsError, match="UPLOADS_PATH"):
        uploads_root(_settings(tmp_path, vault_git_url=url, uploads_path=tmp_path / "home" / "clone" / "inbox"))


def test_sources_are_found_on_disk(tmp_path: Path) -> None:
    settings = _settings(tmp_path, vault_path=tmp_path / "v", uploads_path=tmp_path / "u")
    assert locate(settings, "a/b.md") == tmp_path / "v" / "a" / "b.md"
    assert locate(settings, f"{UPLOADS}/b.md") == tmp_path / "u" / "b.md"
    assert locate(_settings(tmp_path), "a/b.md") is None


def test_what_holds_what(tmp_path: Path) -> None:
    (tmp_path / "vault" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    assert holds(tmp_path / "vault", tmp_path / "vault")
    assert holds(tmp_path / "vault", tmp_path / "vault" / "sub" / "not there")
    assert holds(tmp_path / "vault", tmp_path / "link" / "sub")
    assert holds(tmp_path / "link", tmp_path / "vault" / "sub")
    assert not holds(tmp_path / "vault", tmp_path / "vaults")
    assert not holds(tmp_path / "vault" / "sub", tmp_path / "vault")
    assert not holds(tmp_path / "missing", tmp_path / "vault")


def test_uploads_are_a_partition_of_their_own() -> None:
    assert folder_key(UPLOADS) == UPLOADS_KEY
    assert folder_label(UPLOADS_KEY) == UPLOADS
    for options in ({}, {"depth": 4}, {"buckets": 7}):
        assert folder_of(f"{UPLOADS}/a.md", **options) == UPLOADS_KEY  # type: ignore[arg-type]
    assert folder_of("_uploads/a.md") != UPLOADS_KEY


def test_an_empty_folder_is_trusted_only_with_its_mark(tmp_path: Path) -> None:
    root = tmp_path / "inbox"
    assert scan_uploads(root).unreadable_folders == (UPLOADS,)
    root.mkdir()
    assert scan_uploads(root).unreadable_folders == (UPLOADS,)
    prepare(root)
    prepare(root)
    assert is_marked(root)
    assert [path.name for path in root.iterdir()] == [MARK]
    assert scan_uploads(root).unreadable_folders == ()
    assert scan_uploads(root).files == {}


def test_a_scan_lists_what_may_be_uploaded(tmp_path: Path) -> None:
    prepare(tmp_path)
    for name in ("b.PDF", "a ñ.md", "c.txt", "d.html", "e", "f.md~", ".g.md", "h.md.part"):
        (tmp_path / name).write_text("x")
    (tmp_path / "nfd e\u0301.md").write_text("x")
    (tmp_path / "i.md").mkdir()
    found = scan_uploads(tmp_path)
    assert list(found.files) == [f"{UPLOADS}/{name}" for name in ("a ñ.md", "b.PDF", "c.txt", "nfd é.md")]
    assert [file.media_type for file in found.files.values()] == ["markdown", "pdf", "text", "markdown"]
    assert found.files[f"{UPLOADS}/nfd é.md"].disk_path == f"{UPLOADS}/nfd e\u0301.md".encode()
    assert found.warnings == (f"{UPLOADS}/i.md: folders are not read here",)
