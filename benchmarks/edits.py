"""The edits that a benchmark makes to a copy of a vault, the same for every tool that is measured."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

_RENAMES = 100
_DELETES = 100


def notes(vault: Path) -> list[Path]:
    """The Markdown notes of a vault, sorted."""
    return sorted(path for path in vault.rglob("*.md") if path.is_file())


def copy_vault(source: Path, target: Path) -> Path:
    """A fresh copy with old dates, so that no file is too young for a tool to trust its date."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    return target


def nothing(vault: Path) -> None:
    """No change at all."""


def edit_one_line(vault: Path) -> None:
    """Change the last line of the note in the middle of the list."""
    every = notes(vault)
    note = every[len(every) // 2]
    note.write_text(note.read_text(encoding="utf-8").rstrip() + " And one more remark.\n", encoding="utf-8")


def insert_paragraph(vault: Path) -> None:
    """Insert a paragraph at the top of the longest note."""
    note = max(notes(vault), key=lambda path: path.stat().st_size)
    text = note.read_text(encoding="utf-8")
    note.write_text("A paragraph that was not here before, at the very top of it all.\n\n" + text, encoding="utf-8")


def rename_many(vault: Path) -> None:
    """Rename 100 notes (or all, if there are fewer) in their folders."""
    for note in notes(vault)[:_RENAMES]:
        note.rename(note.with_name("Renamed " + note.name))


def delete_many(vault: Path) -> None:
    """Delete 100 notes, at most a third of them."""
    every = notes(vault)
    for note in every[-min(_DELETES, len(every) // 3) :]:
        note.unlink()


STEPS: dict[str, Callable[[Path], None]] = {
    "cold index": nothing,
    "no-op": nothing,
    "one line edited": edit_one_line,
    "paragraph at the top of the longest note": insert_paragraph,
    "100 renamed": rename_many,
    "100 deleted": delete_many,
}
"""Steps in their order; each starts from where the one before left the vault."""
