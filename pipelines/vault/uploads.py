"""The folder of uploads: a second root, flat, which Vaultline itself writes.

Its files are called `.uploads/NAME` everywhere. No file of a vault can be called so, because a scan of the vault leaves
out what a dot begins: the two roots need no rule for who has which name.
"""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH118

import contextlib
import os
import stat
from pathlib import Path

from pipelines.vault.file_problems import unreadable
from pipelines.vault.folders import UPLOADS
from pipelines.vault.rules import MEDIA_TYPES, MediaType, is_hidden, is_temporary, unwanted_copy
from pipelines.vault.scan import FoundFile, Scan
from pipelines.vault.sources import decode_name, source_of

PREFIX = f"{UPLOADS}/".encode()
"""How the `disk_path` of an upload begins."""

MARK = ".vaultline-uploads"
"""A file that says that the folder is really there: without it an empty folder may be a disk that is not mounted."""

TYPES: dict[str, MediaType] = {".txt": "text"}
TYPES |= {ending: kind for ending, kind in MEDIA_TYPES.items() if kind in ("markdown", "pdf")}
"""Extension in lower case -> how the file is parsed. VAULT_EXTENSIONS is about the vault."""


def prepare(root: Path) -> None:
    """Make the folder and its mark where they are missing. Raises OSError."""
    root.mkdir(parents=True, exist_ok=True)
    mark(root)


def mark(root: Path) -> None:
    """Say that this is the folder of uploads. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(root / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


def is_marked(root: Path) -> bool:
    """Whether the folder is there and ours."""
    return (root / MARK).is_file()


def scan_uploads(root: Path) -> Scan:
    """List the uploads. A folder that is missing, cannot be listed, or is empty and without its mark is unreadable:
    its documents are unknown then, not gone. Links and subfolders are not read."""
    base = os.fsencode(root)
    files: dict[str, FoundFile] = {}
    warnings: list[str] = []
    try:
        with os.scandir(base) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:
        return Scan({}, unreadable_folders=(UPLOADS,))
    except OSError as error:
        return Scan({}, unreadable_folders=(UPLOADS,), warnings=(f"uploads: cannot be read: {error.strerror}",))
    for entry in entries:
        name = entry.name
        media_type = TYPES.get(decode_name(name[name.rfind(b".") :]).lower())
        if is_hidden(name) or is_temporary(name):
            continue
        if entry.is_dir(follow_symlinks=False):
            warnings.append(f"{UPLOADS}/{source_of(name)}: folders are not read here")
        elif media_type is not None and (found := _found(base, entry, media_type)) is not None:
            other = files.get(found.source)
            if other is not None:
                warnings.append(f"{found.source}: two files have this name, written with different Unicode")
            if other is None or found.disk_path == found.source.encode():
                files[found.source] = found
    if not files and not is_marked(root):
        return Scan({}, unreadable_folders=(UPLOADS,), warnings=tuple(warnings))
    return Scan(dict(sorted(files.items())), warnings=tuple(warnings))


def _found(base: bytes, entry: "os.DirEntry[bytes]", media_type: MediaType) -> FoundFile | None:
    source, disk_path = f"{UPLOADS}/{source_of(entry.name)}", PREFIX + entry.name
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # gone since the folder was listed
    except OSError as error:
        problem = f"its size and date cannot be read: {error.strerror}"
        return FoundFile(source, disk_path, 0, 0, media_type, problem=problem)
    excluded = unwanted_copy(decode_name(entry.name))
    if stat.S_ISLNK(status.st_mode):
        excluded = "a link: only files are read among the uploads"
    why = None if excluded else unreadable(os.path.join(base, entry.name), status)
    return FoundFile(source, disk_path, status.st_size, status.st_mtime_ns, media_type, why, excluded)
