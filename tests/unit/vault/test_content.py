"""Reading files: whole, of one moment, and never anything but a file (B31)."""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH104, PTH105, PTH108, PTH116, PTH123

import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import DocumentError
from pipelines.vault.content import hash_bytes, hash_file, is_lfs_pointer, is_racy, quiet_for, read_stable
from pipelines.vault.scan import FoundFile
from tests.unit.vault.conftest import Vault

READERS = pytest.mark.parametrize("read", [read_stable, hash_file])
Read = Callable[..., object]
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 12345\n"
)


def found(mtime_ns: int) -> FoundFile:
    return FoundFile("a.md", b"a.md", 1, mtime_ns, "markdown")


def test_bytes_size_and_date_of_one_moment(vault: Vault) -> None:
    path = vault.write("a.md", b"a\0\xff\r\n")
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))
    assert read_stable(path) == (b"a\0\xff\r\n", 5, 1_700_000_000_123_456_789)
    assert read_stable(Path(os.fsdecode(path))) == read_stable(path)


def test_an_empty_file_is_read(vault: Vault) -> None:
    assert read_stable(vault.write("a.md", ""))[:2] == (b"", 0)


def test_names_that_are_not_utf8_are_read(vault: Vault) -> None:
    assert read_stable(vault.write(b"canci\xf3n\n.md", "x"))[0] == b"x"


@READERS
def test_a_file_that_is_gone_is_gone_and_no_failure(vault: Vault, read: Read) -> None:
    path = vault.write("sub/a.md")
    os.unlink(path)
    with pytest.raises(FileNotFoundError):
        read(path)
    os.rename(vault.path("sub"), vault.path("b"))
    vault.write("sub", "a file now")
    with pytest.raises(FileNotFoundError):
        read(path)


def grow_at_each_look(monkeypatch: pytest.MonkeyPatch, path: bytes, *, looks: int) -> None:
    """Let another program write to the file whenever its status is asked for, the first `looks` times."""
    real = os.fstat
    left = [looks]

    def fstat(descriptor: int) -> os.stat_result:
        if left[0]:
            left[0] -= 1
            with open(path, "ab") as file:
                file.write(b"x")
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", fstat)


@READERS
def test_a_file_that_grows_all_the_time_is_still_being_written(
    vault: Vault, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = vault.write("a.pdf", b"x")
    grow_at_each_look(monkeypatch, path, looks=1000)
    with pytest.raises(DocumentError, match="still being written"):
        read(path, attempts=3, pause=0)
    assert os.stat(path).st_size == 7, "three attempts, two looks each"


@READERS
def test_a_file_that_stops_growing_is_read(vault: Vault, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    path = vault.write("a.pdf", b"x")
    grow_at_each_look(monkeypatch, path, looks=4)
    result = read(path, attempts=3, pause=0)
    assert result in ((b"xxxxx", 5, os.stat(path).st_mtime_ns), hash_bytes(b"xxxxx"))


def test_a_file_that_was_being_written_is_read_when_it_is_complete(vault: Vault) -> None:
    path = vault.write("a.pdf", b"")
    started = threading.Event()

    def copy() -> None:
        with open(path, "ab", buffering=0) as file:
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                file.write(b"x" * 1000)
                started.set()

    thread = threading.Thread(target=copy)
    thread.start()
    started.wait()
    data, size, _mtime_ns = read_stable(path, attempts=200, pause=0.05)
    thread.join()
    assert len(data) == size
    assert set(data) == {ord("x")}


def test_what_is_read_while_a_file_is_replaced_is_one_version_or_the_other(vault: Vault) -> None:
    """B31 a: editors write a temporary file and rename it over the note, again and again."""
    path = vault.write("x.md", b"0" * 100_000)
    stop = threading.Event()

    def save() -> None:
        number = 0
        while not stop.is_set():
            number = (number + 1) % 10
            os.replace(vault.write(".x.md.swp", str(number).encode() * 100_000), path)

    thread = threading.Thread(target=save)
    thread.start()
    try:
        for _ in range(200):
            data, size, _mtime_ns = read_stable(path, attempts=50, pause=0)
            assert size == 100_000
            assert len(set(data)) == 1
    finally:
        stop.set()
        thread.join()


@READERS
def test_a_pipe_in_the_files_place_does_not_block(vault: Vault, read: Read) -> None:
    os.mkfifo(vault.path("a.md"))
    with pytest.raises(DocumentError, match="not a file any more"):
        read(vault.path("a.md"))


@READERS
def test_a_folder_in_the_files_place(vault: Vault, read: Read) -> None:
    vault.write("a.md/b.md")
    with pytest.raises(DocumentError, match=r"cannot be read|not a file any more"):
        read(vault.path("a.md"))


@READERS
def test_a_link_in_the_files_place_leads_nowhere(vault: Vault, read: Read) -> None:
    vault.write("b.md", "secret")
    vault.link("a.md", "b.md")
    with pytest.raises(DocumentError, match="links are not followed"):
        read(vault.path("a.md"))
    assert read(vault.path("a.md"), follow_links=True)


def test_a_file_without_permission(public_vault: Vault, without_rights: Callable[[str], object]) -> None:
    path = public_vault.write("a.md")
    (public_vault.root / "a.md").chmod(0)
    answer = without_rights(
        f"try: content.read_stable({path!r}); answer = 'read'\nexcept DocumentError as error: answer = str(error)"
    )
    assert answer == "cannot be read: Permission denied"


def test_messages_hold_no_text_of_the_note(vault: Vault) -> None:
    vault.write("b.md", "secret")
    vault.link("a.md", "b.md")
    with pytest.raises(DocumentError) as caught:
        read_stable(vault.path("a.md"))
    assert "secret" not in str(caught.value)


@given(st.binary(max_size=3000))
def test_the_hash_is_blake2b_of_sixteen_bytes(data: bytes) -> None:
    assert hash_bytes(data) == hashlib.blake2b(data, digest_size=16).hexdigest()
    assert len(hash_bytes(data)) == 32


@pytest.mark.parametrize("size", [0, 1, 262_144, 3_000_001])
def test_a_file_has_the_hash_of_its_bytes(vault: Vault, size: int) -> None:
    path = vault.write("a.pdf", os.urandom(size))
    assert hash_file(path) == hash_bytes(read_stable(path)[0])


def test_pointers_of_git_lfs_are_known(vault: Vault) -> None:
    assert is_lfs_pointer(POINTER)
    assert is_lfs_pointer(b"version https://hawser.github.com/spec/v1\noid sha256:abc\nsize 3\n")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version https://git-lfs.github.com/spec/v1\n",
        b"# Notes\n" + POINTER,
        POINTER + b"x" * 1024,
        b"version 2\noid sha256:abc\n",
    ],
)
def test_notes_about_git_lfs_are_notes(data: bytes) -> None:
    assert not is_lfs_pointer(data)


def test_quiet_is_a_file_that_nobody_has_written_to_for_a_while() -> None:
    now = 1_700_000_000 * 10**9
    assert quiet_for(found(now - 3 * 10**9), seconds=2, now_ns=now)
    assert quiet_for(found(now - 2 * 10**9), seconds=2, now_ns=now)
    assert not quiet_for(found(now - 10**9), seconds=2, now_ns=now)
    assert not quiet_for(found(now), seconds=0.5, now_ns=now)
    assert quiet_for(found(now), seconds=0, now_ns=now)
    assert quiet_for(found(1), seconds=2, now_ns=now), "a restored backup keeps its old date (B29 a)"
    assert quiet_for(found(now + 3600 * 10**9), seconds=2, now_ns=now), "a clock set back must not hide it (B29 e)"


def test_a_hash_read_right_after_a_change_is_not_to_be_trusted_for_ever() -> None:
    """B29 c: two edits of one size within the steps in which the file system keeps its dates."""
    now = 1_700_000_000 * 10**9
    assert is_racy(now, read_at_ns=now)
    assert is_racy(now, read_at_ns=now + 10**9)
    assert is_racy(now + 3600 * 10**9, read_at_ns=now)
    assert not is_racy(now, read_at_ns=now + 2 * 10**9)
