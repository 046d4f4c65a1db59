"""What a scan sees: names (B02, X07), changes (B29), what stays out (B32), what cannot be read (X08)."""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH102, PTH103, PTH104, PTH106, PTH108, PTH116, PTH120, PTH208

import contextlib
import os
import socket
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.errors import VaultUnavailable
from pipelines.vault.file_problems import Placeholders
from pipelines.vault.rules import ScanRules, media_types
from pipelines.vault.scan import SOURCE_LIMIT, FoundFile, Scan, scan
from tests.unit.vault.conftest import Vault

Answer = Callable[[str], object]


def test_a_file_is_found_with_all_that_tells_whether_it_changed(vault: Vault) -> None:
    path = vault.write("Año/plan.md", "doce letras!")
    os.utime(path, ns=(5, 1_700_000_000_123_456_789))
    assert vault.scan() == Scan(
        files={
            "Año/plan.md": FoundFile("Año/plan.md", "Año/plan.md".encode(), 12, 1_700_000_000_123_456_789, "markdown")
        }
    )


def test_only_wanted_types_are_listed_in_any_case_and_in_order(vault: Vault) -> None:
    for name in ["z.md", "A.MD", "b.Pdf", "c.txt", "d.png", "e", "md", "f.md.zip", "carpeta.md/g.markdown"]:
        vault.write(name)
    found = vault.scan().files
    assert {source: file.media_type for source, file in found.items()} == {
        "A.MD": "markdown",
        "b.Pdf": "pdf",
        "c.txt": "text",
        "carpeta.md/g.markdown": "markdown",
        "z.md": "markdown",
    }
    assert list(found) == sorted(found)


def test_an_empty_vault_is_a_vault(vault: Vault) -> None:
    assert vault.scan() == Scan(files={})


# -- the root


def test_a_missing_root_is_named(tmp_path: Path, vault: Vault) -> None:
    with pytest.raises(VaultUnavailable, match=rf"{tmp_path}/gone: no such folder\. Set VAULT_PATH"):
        scan(tmp_path / "gone", rules=vault.rules)


def test_a_root_that_is_a_file_is_named(vault: Vault) -> None:
    vault.write("a.md")
    with pytest.raises(VaultUnavailable, match=r"a\.md: not a folder"):
        scan(vault.root / "a.md", rules=vault.rules)
    with pytest.raises(VaultUnavailable, match="not a folder"):
        scan(vault.root / "a.md" / "below", rules=vault.rules)


def test_a_root_that_is_a_broken_link_is_missing(vault: Vault) -> None:
    vault.link("root", "nowhere")
    with pytest.raises(VaultUnavailable, match="no such folder"):
        scan(vault.root / "root", rules=vault.rules)


def test_a_root_that_cannot_be_listed_is_named(public_vault: Vault, without_rights: Answer) -> None:
    public_vault.write("a.md")
    public_vault.root.chmod(0o311)
    answer = without_rights(
        f"try: scanning.scan(Path({str(public_vault.root)!r}), rules=rules); answer = 'read'\n"
        "except VaultUnavailable as error: answer = str(error)"
    )
    assert answer == f"vault {public_vault.root}: cannot be read: Permission denied"


def test_a_root_may_be_a_link_and_may_lie_in_a_hidden_folder(vault: Vault, tmp_path: Path) -> None:
    vault.write(".hidden/vault/a.md")
    (tmp_path / "link").symlink_to(vault.root / ".hidden" / "vault")
    assert list(scan(tmp_path / "link", rules=vault.rules).files) == ["a.md"]


# -- names: B02, X07

ODD_NAMES = [
    'Árbol "b".md',
    "a, b.md",
    "a...b.md",
    "[x].md",
    "two\nlines.md",
    "tab\there.md",
    "it's; drop table.md",
    "-rf.md",
    " leading and trailing .md",
    "日本語のメモ.md",
    "שלום.md",
    "🙂.md",
    "%2e%2e.md",
    "a" * 252 + ".md",
    "ñ" * 126 + ".md",
]


def test_odd_names_are_found_as_they_are(vault: Vault) -> None:
    for name in ODD_NAMES:
        vault.write(f"carpeta, con coma/{name}")
    scan = vault.scan()
    assert set(scan.files) == {f"carpeta, con coma/{name}" for name in ODD_NAMES}
    assert scan.warnings == ()


def test_a_name_that_is_not_utf8_has_a_source_and_its_own_bytes(vault: Vault) -> None:
    vault.write(b"carpeta \xe1\xf1o/canci\xf3n.md")
    (found,) = vault.scan().files.values()
    assert found.source == r"carpeta \341\361o/canci\363n.md"
    assert found.disk_path == b"carpeta \xe1\xf1o/canci\xf3n.md"
    assert os.stat(vault.path(found.disk_path)).st_size == found.size


def test_a_decomposed_name_has_the_composed_source_and_its_own_bytes(vault: Vault) -> None:
    disk = unicodedata.normalize("NFD", "Año/Reunión.md").encode()
    vault.write(disk)
    (found,) = vault.scan().files.values()
    assert (found.source, found.disk_path) == ("Año/Reunión.md", disk)


@pytest.mark.parametrize("first", ["NFC", "NFD"])
def test_of_two_files_of_one_name_the_composed_one_is_read(vault: Vault, first: str) -> None:
    second = "NFD" if first == "NFC" else "NFC"
    for form in (first, second):
        vault.write(unicodedata.normalize(form, "Reunión.md"), form)  # type: ignore[arg-type]
    scan = vault.scan()
    assert scan.files["Reunión.md"].disk_path == "Reunión.md".encode()
    assert scan.warnings == (
        "Reunión.md: two files have this name, written with different Unicode; only one of them is read. Rename one",
    )


def test_twins_of_which_neither_is_composed_are_judged_the_same_way_each_time(vault: Vault) -> None:
    one, other = "e\u0302\u0323.md".encode(), "e\u0323\u0302.md".encode()  # the same letter, marks in either order
    vault.write(one)
    vault.write(other)
    vault.write("sub/a.md")
    assert vault.scan().files["ệ.md"].disk_path == min(one, other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a/uno.md", "b/dos.md"),
        ("Nota.md", "nota.md"),
        ("Ideas/x.md", "ideas/x.md"),
        (unicodedata.normalize("NFD", "Año.md"), "Año.md"),
    ],
)
def test_a_rename_moves_the_file_and_changes_nothing_else(vault: Vault, before: str, after: str) -> None:
    vault.write(before)
    (old,) = vault.scan().files.values()
    os.makedirs(os.path.dirname(vault.path(after)), exist_ok=True)
    os.rename(vault.path(before), vault.path(after))
    scan = vault.scan()
    (new,) = scan.files.values()
    assert new == replace(old, source=after, disk_path=after.encode())
    assert scan.warnings == ()


def test_a_path_too_long_for_the_database_is_said_and_left_out(vault: Vault) -> None:
    folder = "/".join(["x" * 200] * 10)
    os.makedirs(vault.path("y"))
    current = os.open(vault.path("y"), os.O_RDONLY)
    for part in folder.split("/"):
        os.mkdir(part, dir_fd=current)
        current, parent = os.open(part, os.O_RDONLY, dir_fd=current), current
        os.close(parent)
    os.close(os.open("nota.md", os.O_CREAT | os.O_WRONLY, dir_fd=current))
    os.close(current)
    vault.write("a.md")
    scan = vault.scan()
    assert list(scan.files) == ["a.md"]
    (warning,) = scan.warnings
    assert f"its path is longer than {SOURCE_LIMIT:,} bytes" in warning


NAMES = st.binary(min_size=1, max_size=30).filter(lambda name: not {0, ord("/")} & set(name) and name[0] != ord("."))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(NAMES, min_size=1, max_size=8))
def test_whatever_the_names_every_file_is_found_or_named_in_a_warning(vault: Vault, names: set[bytes]) -> None:
    for old in os.listdir(os.fsencode(vault.root)):
        os.unlink(vault.path(old))
    files = {name + b"!.md" for name in names}
    for name in files:
        vault.write(name)
    scan = vault.scan()
    assert len(scan.files) + len(files) - len({file.disk_path for file in scan.files.values()}) >= len(files)
    assert {file.disk_path for file in scan.files.values()} <= files
    if not scan.warnings:
        assert {file.disk_path for file in scan.files.values()} == files


# -- changes: B29


def test_what_tells_a_change_is_seen(vault: Vault) -> None:
    """A restored backup with an old date, a touch, a replaced file, a new size: each differs in size or mtime."""
    path = vault.write("a.md", "one")
    os.utime(path, ns=(0, 10**18))
    first = vault.scan().files["a.md"]
    os.utime(path, ns=(0, 10**18 - 1))
    assert vault.scan().files["a.md"] == replace(first, mtime_ns=10**18 - 1)
    vault.write("a.md", "three")
    os.utime(path, ns=(0, 10**18))
    assert vault.scan().files["a.md"] == replace(first, size=5)
    vault.write("a.md", "two")
    os.utime(path, ns=(0, 10**18))
    assert vault.scan().files["a.md"] == first, "same size and date: only a full hash can tell (B29 b)"


def test_a_new_file_with_the_date_of_last_year_is_found(vault: Vault) -> None:
    os.utime(vault.write("restored.md"), (1, 1))
    assert vault.readable() == ["restored.md"]


def test_a_note_moved_to_the_trash_is_gone(vault: Vault) -> None:
    vault.write("nota.md")
    os.mkdir(vault.path(".trash"))
    os.rename(vault.path("nota.md"), vault.path(".trash/nota.md"))
    assert vault.scan() == Scan(files={})


# -- what stays out: B31 a, B32, B28 c


def test_a_vault_full_of_what_is_not_a_note(vault: Vault, tmp_path: Path) -> None:
    for name in [
        ".obsidian/plugins/x/README.md",
        ".trash/vieja.md",
        ".git/description.md",
        "node_modules/a/README.md",
        "a/__pycache__/x.txt",
        ".stversions/nota~20260101-101010.md",
        "agent_learnings/x.md",
        "sub/Agent_Learnings/x.md",
        ".oculta.md",
        "._nota.md",
        ".nota.md.swp",
        "nota.md~",
        "4913",
        "#nota.md#",
        "~$informe.pdf",
    ]:
        vault.write(name)
    vault.link(".#nota.md", "ana@host.123")
    vault.write("nota.sync-conflict-20260101-101010-ABC.md")
    vault.write("nota (conflicted copy).md")
    vault.write("Esquema.excalidraw.md")
    vault.write("nota.md")
    scan = vault.scan()
    assert vault.readable() == ["nota.md"]
    assert vault.excluded() == {
        "Esquema.excalidraw.md": "an Excalidraw drawing",
        "nota (conflicted copy).md": "a copy that a sync tool made of a conflict",
        "nota.sync-conflict-20260101-101010-ABC.md": "a copy that a sync tool made of a conflict",
    }
    assert list(scan.excluded_folders) == ["a/__pycache__", "agent_learnings", "node_modules", "sub/Agent_Learnings"]
    assert scan.warnings == ()


def test_vaultlines_own_folder_inside_the_vault_stays_out_under_any_name(vault: Vault) -> None:
    vault.write("home/clone/a.md")
    vault.write("b.md")
    vault.link("alias", "home")
    vault.rules = replace(vault.rules, home=vault.root / "alias")
    assert vault.readable() == ["b.md"]
    assert vault.scan().excluded_folders["home"] == "Vaultline's own folder (VAULTLINE_HOME)"
    os.rename(vault.path("home"), vault.path("moved"))
    vault.rules = replace(vault.rules, home=vault.root / "moved")
    assert vault.readable() == ["b.md"]


def test_a_home_that_is_not_there_yet_is_no_trouble(vault: Vault) -> None:
    vault.write("a.md")
    vault.rules = replace(vault.rules, home=vault.root / "not yet")
    assert vault.readable() == ["a.md"]


def test_nothing_is_written_to_the_vault(vault: Vault) -> None:
    vault.write("a/b.md")
    vault.write(".vaultignore", "x")
    before = {path: os.lstat(path).st_mtime_ns for path in [vault.root, *vault.root.rglob("*")]}
    vault.scan()
    assert {path: os.lstat(path).st_mtime_ns for path in [vault.root, *vault.root.rglob("*")]} == before


# -- what cannot be read: B32, X08


def test_pipes_sockets_and_broken_links_are_reported_once_and_block_nothing(vault: Vault) -> None:
    vault.write("a.md")
    os.mkfifo(vault.path("pipe.md"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fsdecode(vault.path("socket.md")))
    vault.link("broken.md", "nowhere.md")
    vault.link("broken folder", "nowhere")
    vault.link("self.md", "self.md")
    assert vault.readable() == ["a.md"]
    assert vault.problems() == {
        "broken.md": "a broken link",
        "pipe.md": "not a file but a named pipe",
        "self.md": "a link that leads back to itself",
        "socket.md": "not a file but a socket",
    }
    assert vault.scan().warnings == ()


def test_files_and_folders_without_permission(public_vault: Vault, without_rights: Answer) -> None:
    for name in ["open.md", "closed.md", "locked/a.md", "blind/b.md", "sub/c.md"]:
        public_vault.write(name)
    (public_vault.root / "closed.md").chmod(0)
    (public_vault.root / "locked").chmod(0)
    (public_vault.root / "blind").chmod(0o444)  # its names can be listed and nothing more
    answer = without_rights(
        f"seen = scanning.scan(Path({str(public_vault.root)!r}), rules=rules)\n"
        "answer = [{k: file.problem for k, file in seen.files.items()}, seen.unreadable_folders, seen.warnings]"
    )
    assert answer == [
        {
            "blind/b.md": "its size and date cannot be read: Permission denied",
            "closed.md": "no permission to read it",
            "open.md": None,
            "sub/c.md": None,
        },
        ["locked"],
        ["locked: the folder cannot be read (Permission denied); its documents stay as they are"],
    ]


def test_an_excluded_file_is_excluded_whatever_else_it_is(vault: Vault) -> None:
    os.mkfifo(vault.path("x.md"))
    vault.write(".vaultignore", "x.md")
    found = vault.scan().files["x.md"]
    assert (found.excluded, found.problem) == ("left out by .vaultignore", None)


def test_a_cloud_placeholder_is_reported_and_not_read(vault: Vault) -> None:
    vault.write("a.md")
    for name in ["evicted.md", "evicted.pdf"]:
        os.truncate(vault.write(name, ""), 200_000)  # a size, and no block on the disk
    vault.write("empty.md", "")
    assert vault.readable() == ["a.md", "empty.md"]
    problem = "its content is not on this machine (a cloud placeholder): download it"
    assert vault.problems() == {"evicted.md": problem, "evicted.pdf": problem}
    assert vault.scan().files["evicted.md"].size == 200_000


def test_placeholders_are_known_where_every_file_is_one_and_where_they_are_small(vault: Vault) -> None:
    os.truncate(vault.write("small.md", ""), 100)
    assert list(vault.problems()) == ["small.md"]
    vault.write("a.md")
    assert list(vault.problems()) == ["small.md"]


def status(*, size: int, blocks: int, device: int) -> os.stat_result:
    return os.stat_result((0o100644, 1, device, 1, 0, 0, size, 0, 0, 0), {"st_blocks": blocks})


def test_blocks_tell_only_where_the_file_system_reports_them() -> None:
    """Network file systems exist that report none for anything; small files may live in the inode."""
    placeholders = Placeholders(b"/nowhere/")
    placeholders.look(b"a.md", status(size=5000, blocks=8, device=1))
    placeholders.look(b"evicted.md", status(size=5000, blocks=0, device=1))
    placeholders.look(b"inline.md", status(size=100, blocks=0, device=1))
    placeholders.look(b"empty.md", status(size=0, blocks=0, device=1))
    placeholders.look(b"network.md", status(size=5000, blocks=0, device=2))
    assert [path for path, _problem in placeholders.found()] == [b"evicted.md"]


def test_a_note_that_icloud_evicted_is_not_gone(vault: Vault) -> None:
    vault.write(".Reunión.md.icloud", b"bplist00")
    vault.write(".foto.png.icloud", b"bplist00")
    vault.write(".both.md.icloud", b"bplist00")
    vault.write("both.md")
    vault.write("sub/.left out.md.icloud", b"bplist00")
    vault.write("sub/.vaultignore", "left out.md")
    assert vault.readable() == ["both.md"]
    assert vault.problems() == {"Reunión.md": "only in iCloud: download it to this machine"}


def test_what_vanishes_after_the_listing_is_gone_and_a_folder_is_unknown(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B31 e. A folder that vanishes may have moved to where this scan has been already: nothing below it is deleted."""
    vault.write("a.md")
    vault.write("gone.md")
    vault.write("folder/b.md")
    real = os.scandir

    def scandir(path: bytes) -> contextlib.nullcontext[list[os.DirEntry[bytes]]]:
        with real(path) as listing:
            entries = list(listing)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(vault.path("gone.md"))
            os.rename(vault.path("folder"), vault.path("../elsewhere"))
        return contextlib.nullcontext(entries)

    monkeypatch.setattr(os, "scandir", scandir)
    scan = vault.scan()
    assert list(scan.files) == ["a.md"]
    assert scan.unreadable_folders == ("folder",)


def test_a_scan_works_while_files_come_and_go(vault: Vault) -> None:
    """Files and folders vanish between listing and looking; what stays is found all the same."""
    for number in range(50):
        vault.write(f"stays/{number}.md")
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for number in range(20):
                vault.write(f"comes and goes/{number}/x.md")
            for number in range(20):
                os.unlink(vault.path(f"comes and goes/{number}/x.md"))
                os.rmdir(vault.path(f"comes and goes/{number}"))

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(40):
            seen = [source for source in vault.readable() if source.startswith("stays/")]
            assert len(seen) == 50
    finally:
        stop.set()
        thread.join()


def test_ten_thousand_files_are_listed_with_one_look_at_each(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """B28 a: counted, not timed. Beyond the listing of folders no file may cost a call of its own."""
    for number in range(1000):
        vault.write(f"{number % 10}/{number}.md")
    calls: list[str] = []
    for name in ["stat", "lstat", "open", "access", "readlink"]:
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, real=real, name=name, **kw: (calls.append(name), real(*args, **kw))[1]
        )
    assert len(vault.scan().files) == 1000
    assert len(calls) < 40


def test_rules_of_a_default_installation(vault: Vault) -> None:
    rules = ScanRules(media_types((".md",)))
    assert rules.exclude == ()
    assert rules.home is None
    assert rules.follow_links is False
