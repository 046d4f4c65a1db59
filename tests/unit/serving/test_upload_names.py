"""What an uploaded file may be called, and what it has to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.serving.problems import Refused
from pipelines.serving.upload_names import LONGEST_NAME, SAMPLE, check_content, checked_name


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("plan.md", "plan.md"),
        ("  plan.PDF ", "plan.PDF"),
        ("cafe\u0301.txt", "café.txt"),
        ("a.b.c.markdown", "a.b.c.markdown"),
        ("👩\u200d🔬 notes.md", "👩\u200d🔬 notes.md"),
        ("console.md", "console.md"),
        ("com10.md", "com10.md"),
    ],
)
def test_names_are_kept(given_name: str, kept: str) -> None:
    assert checked_name(given_name.encode()) == kept


@given(st.text(max_size=300))
def test_a_name_is_refused_or_names_one_file_in_one_folder(text: str) -> None:
    try:
        name = checked_name(f"{text}.md".encode("utf-8", "surrogatepass"))
    except Refused:
        return
    assert "/" not in name
    assert "\\" not in name
    assert name.isprintable() or all(char.isprintable() or ord(char) > 127 for char in name)
    assert name not in (".", "..")
    assert not name.startswith(".")
    assert len(name.encode()) <= LONGEST_NAME
    assert checked_name(name.encode()) == name, "and the same when it is sent again"


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(Refused, match="UTF-8"):
        checked_name(b"caf\xe9.md")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.pdf", b"%PDF-1.7\n"),
        ("a.pdf", b"\xef\xbb\xbf\r\n junk " * 20 + b"%PDF-1.4"),
        ("a.md", "# Año\n".encode()),
        ("a.txt", "# Año\n".encode("utf-16")),
        ("a.txt", "# Año\n".encode("latin-1")),
        ("a.md", ("ñ" * SAMPLE).encode()[:SAMPLE]),
        ("a.md", ("a" + "ñandú\n" * SAMPLE).encode()[:SAMPLE]),
        ("a.txt", "año\n".encode("utf-16-le") * 9_000),
    ],
)
def test_files_that_are_what_they_are_called(name: str, head: bytes) -> None:
    check_content(name, head, max(len(head), SAMPLE + 1) if len(head) == SAMPLE else len(head))


@pytest.mark.parametrize(
    ("name", "head", "says"),
    [
        ("a.pdf", b"<html>", "does not"),
        ("a.pdf", b"x" * 1_100 + b"%PDF-", "does not"),
        ("a.md", b"\x7fELF" + bytes(100), "a program"),
        ("a.txt", b"MZ" + bytes(range(1, 30)) * 9, "binary"),
        ("a.txt", b"\xff\xd8\xff\xe0" + bytes(100), "JPEG"),
        ("a.md", b"text %PDF-1.4", "name end in .pdf"),
        ("a.md", b"", "empty"),
    ],
)
def test_files_that_are_not(name: str, head: bytes, says: str) -> None:
    with pytest.raises(Refused, match=says):
        check_content(name, head, len(head))
