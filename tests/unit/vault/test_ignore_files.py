"""What people want left out, compared with git itself where git has the say."""

import json
import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.errors import VaultUnavailable
from pipelines.vault.ignore_files import Ignores
from tests.unit.vault.conftest import Repository, Vault

PATHS = [
    "a.md",
    "b.md",
    "foo/a.md",
    "foo/bar/a.md",
    "foo/foo/b.md",
    "bar/foo",
    "bar/c.txt",
    "año/ñandú.md",
    "x y/z.md",
    "[a].md",
]
PIECES = st.sampled_from(
    [
        "*",
        "**",
        "foo",
        "bar",
        "a.md",
        "*.md",
        "?.md",
        "[ab].md",
        "año",
        "ñ*",
        "x y",
        r"\[a\].md",
        "f*",
        "c.txt",
        "[[:alpha:]].md",
        "[![:digit:]]*.md",
        "[[]a].md",
    ]
)
PATTERN = st.builds(
    lambda bang, start, pieces, end: bang + start + "/".join(pieces) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PIECES, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)


def left_out(ignores: Ignores, path: str) -> bool:
    """Judge the folders of a path one after the other, as a scan does."""
    parts = path.split("/")
    folders = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(ignores.reason(folder, is_folder=True) for folder in folders) or bool(
        ignores.reason(path, is_folder=False)
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(PATTERN, min_size=1, max_size=6))
def test_gitignore_means_what_git_says(repository: Repository, lines: list[str]) -> None:
    for path in PATHS:
        repository.write(path)
    text = "\n".join(lines)
    repository.write(".gitignore", text)
    answer = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(PATHS).encode(),
        cwd=repository.root,
        capture_output=True,
        check=False,
    )
    by_git = {path for path in answer.stdout.decode().split("\0") if path}
    ignores, _warnings = Ignores().with_file(b".gitignore", text.encode(), folder="")
    assert {path for path in PATHS if left_out(ignores, path)} == by_git


def test_a_folder_that_is_taken_in_does_not_take_in_what_it_holds(vault: Vault) -> None:
    for name in ["foo/keep.md", "foo/x.md", "bar/keep.md", "keep.md"]:
        vault.write(name)
    vault.write(".gitignore", "*\n!foo/\n!keep.md\n")
    assert vault.readable() == ["foo/keep.md", "keep.md"]


def test_ignore_files_count_from_their_own_folder_and_the_deepest_wins(vault: Vault) -> None:
    for name in ["drafts/a.md", "notes/drafts/b.md", "notes/c.txt", "notes/keep/d.txt", "e.txt"]:
        vault.write(name)
    vault.write(".gitignore", "*.txt\n/drafts/\n")
    vault.write("notes/keep/.gitignore", "!d.txt\n")
    assert vault.readable() == ["notes/drafts/b.md", "notes/keep/d.txt"]
    assert vault.excluded() == {"e.txt": "left out by .gitignore", "notes/c.txt": "left out by .gitignore"}
    assert vault.scan().excluded_folders == {"drafts": "left out by .gitignore"}


def test_vaultignore_beats_gitignore_and_the_setting_beats_both(vault: Vault) -> None:
    for name in ["a.pdf", "b.pdf", "c.md", "d.md"]:
        vault.write(name)
    vault.write(".gitignore", "*.pdf\n")
    vault.write(".vaultignore", "!*.pdf\nc.md\n")
    vault.rules = type(vault.rules)(vault.rules.media_types, exclude=("b.pdf", "!c.md"))
    assert vault.readable() == ["a.pdf", "c.md", "d.md"]
    assert vault.excluded() == {"b.pdf": "left out by VAULT_EXCLUDE"}


def test_patterns_and_names_meet_in_either_unicode_form(vault: Vault) -> None:
    vault.write("Reunión.md")  # composed
    vault.write("An\u0303o.md")  # decomposed
    vault.write(".vaultignore", "Reunio\u0301n.md\nAño.md\n")
    assert vault.readable() == []


def test_byte_order_mark_windows_line_ends_and_odd_bytes(vault: Vault) -> None:
    vault.write("secret.md")
    vault.write(b"canci\xf3n.md")
    vault.write("a\nb/x.md")
    vault.write("keep.md")
    vault.write(".vaultignore", b"\xef\xbb\xbfsecret.md\r\ncanci\xf3n.md\r\n**/x.md\r\n")
    assert vault.readable() == ["keep.md"]


def test_a_line_that_is_no_pattern_is_named_and_the_others_count(vault: Vault) -> None:
    vault.write("sub/secret.md")
    vault.write("sub/.vaultignore", "# a comment\n\n!\nsecret.md\n")
    assert vault.readable() == []
    assert vault.scan().warnings == ("sub/.vaultignore: line 3 is not a pattern and matches nothing",)


def test_gitignore_files_between_the_repository_and_the_vault_count(repository: Repository) -> None:
    repository.write(".gitignore", "*.draft.md\n/docs/vault/private/\n")
    repository.write("docs/.gitignore", "/vault/old.md\n")
    for name in ["a.md", "x.draft.md", "private/p.md", "sub/private/q.md", "old.md"]:
        repository.write(f"docs/vault/{name}")
    inside = Vault(repository.root / "docs" / "vault")
    assert inside.readable() == ["a.md", "sub/private/q.md"]
    assert inside.excluded() == {
        "old.md": "left out by the repository's docs/.gitignore",
        "x.draft.md": "left out by the repository's .gitignore",
    }


@pytest.mark.parametrize("pattern", ["/docs/", "vault", "/docs/vault/", "*"])
def test_a_vault_that_its_repository_ignores_is_still_a_vault(repository: Repository, pattern: str) -> None:
    repository.write(".gitignore", f"{pattern}\n")
    repository.write("docs/vault/a.md")
    assert Vault(repository.root / "docs" / "vault").readable() == ["a.md"]


def test_a_gitignore_above_a_vault_outside_any_repository_is_not_read(vault: Vault) -> None:
    vault.write("../.gitignore", "*.md\n")
    vault.write("a.md")
    assert vault.readable() == ["a.md"]


@pytest.mark.parametrize("home", ["", "team/"])
def test_obsidians_excluded_files_count_from_their_own_vault(vault: Vault, home: str) -> None:
    filters = [
        "Plantillas/",
        "archivo/viejo.md",
        r"/\.draft\.md$/",
        "/(?<year>20[01]\\d)-/",
        "[broken",
        "/[broken/",
        7,
        "",
    ]
    vault.write(f"{home}.obsidian/app.json", json.dumps({"userIgnoreFilters": filters}))
    for name in ["Plantillas/t.md", "plantillas2/u.md", "archivo/Viejo.md", "a.draft.md", "2019-plan.md", "b.md"]:
        vault.write(home + name)
    assert vault.readable() == [f"{home}b.md", f"{home}plantillas2/u.md"]
    assert set(vault.excluded().values()) == {"among the excluded files of Obsidian"}
    assert vault.scan().excluded_folders == {f"{home}Plantillas": "among the excluded files of Obsidian"}
    assert vault.scan().warnings == (
        f"{home}.obsidian/app.json: excluded file 6 is not a regular expression and matches nothing",
    )


@pytest.mark.parametrize("options", ["{}", "[]", '{"userIgnoreFilters": null}', '{"userIgnoreFilters": []}'])
def test_an_obsidian_vault_without_excluded_files(vault: Vault, options: str) -> None:
    vault.write(".obsidian/app.json", options)
    vault.write("a.md")
    assert vault.readable() == ["a.md"]


@pytest.mark.parametrize("content", ["", '{"userIgnoreFilters": ["Priv'])
def test_settings_of_obsidian_that_cannot_be_read_stop_the_scan(vault: Vault, content: str) -> None:
    """What stays out is unknown, so nothing may be taken in; an index that keeps its old state harms nobody."""
    vault.write(".obsidian/app.json", content)
    vault.write("a.md")
    with pytest.raises(VaultUnavailable, match=r"app\.json is not valid JSON"):
        vault.scan()


def test_an_ignore_file_that_cannot_be_read_closes_its_folder(vault: Vault) -> None:
    vault.write("a.md")
    vault.write("sub/b.md")
    os.mkfifo(vault.path("sub/.vaultignore"))
    scan = vault.scan()
    assert list(scan.files) == ["a.md"]
    assert scan.unreadable_folders == ("sub",)
    assert len(scan.warnings) == 1
    os.mkfifo(vault.path(".gitignore"))
    with pytest.raises(VaultUnavailable, match=r"\.gitignore is not a file"):
        vault.scan()
