"""Which files a vault holds: one pass over the folders, one lstat a file, nothing read and nothing written.

Files of other types, hidden files and editors' temporary files are not listed. See docs/decisions/0002-vault-scan.md.
"""

# Paths are bytes here, which pathlib does not take.
# ruff: noqa: PTH118

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipelines.errors import VaultUnavailable
from pipelines.vault import rules as names
from pipelines.vault.file_problems import Placeholders, unreadable
from pipelines.vault.ignore_files import (
    IGNORE_FILES,
    OBSIDIAN_FOLDER,
    IgnoreFileError,
    Ignores,
    above_vault,
    from_setting,
    read_ignore_file,
)
from pipelines.vault.links import Links
from pipelines.vault.rules import MediaType, ScanRules
from pipelines.vault.sources import decode_name, source_of, source_of_text

SOURCE_LIMIT = 2000
"""Bytes of the longest source: PostgreSQL refuses btree keys of more than 2,704 bytes (a third of a page)."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file of a wanted type.

    `disk_path` is relative to the root, in the disk's own bytes. `size` is in bytes. `problem` says in plain words why
    the file is there and cannot be read (its last good version keeps serving); `excluded` says which rule leaves it
    out (nothing of it may stay). At most one of the two is set.
    """

    source: str
    disk_path: bytes
    size: int
    mtime_ns: int
    media_type: MediaType
    problem: str | None = None
    excluded: str | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan saw. `files` is keyed by source, in order.

    `unreadable_folders` are sources of folders that could not be listed: documents below them are unknown, not gone.
    `excluded_folders` maps folders that a rule leaves out to the reason. `warnings` are for people, in order; a file's
    own problem stands with the file.
    """

    files: dict[str, FoundFile]
    unreadable_folders: tuple[str, ...] = ()
    excluded_folders: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to list: its path relative to the root, as on disk and decoded, both "" or ending in a slash."""

    disk: bytes
    text: str
    ignores: Ignores
    is_outside: bool = False


class _Walk:
    """The state of one scan."""

    def __init__(self, root: bytes, rules: ScanRules) -> None:
        self.rules = rules
        self.base = os.path.join(root, b"")
        self.links = Links(root, home=rules.home, allow_outside=rules.follow_links)
        self.placeholders = Placeholders(self.base)
        self.files: dict[str, FoundFile] = {}
        self.later: list[tuple[_Folder, os.DirEntry[bytes]]] = []
        self.unreadable: set[str] = set()
        self.excluded: dict[str, str] = {}
        self.warnings: set[str] = set()

    def folder(self, folder: _Folder) -> list[_Folder]:
        """List one folder; returns the folders to go on with. Raises OSError and IgnoreFileError."""
        with os.scandir(self.base + folder.disk) as listing:
            entries = list(listing)
        ignores = self._ignores(folder, entries)
        if ignores is not folder.ignores:
            folder = replace(folder, ignores=ignores)
        folders = []
        media_types = self.rules.media_types
        for entry in entries:
            name = entry.name
            if name.startswith(b"."):
                if name.endswith(b".icloud"):
                    self._evicted_by_icloud(folder, entry)
            elif entry.is_symlink():
                self.later.append((folder, entry))
            elif entry.is_dir(follow_symlinks=False):
                if child := self._subfolder(folder, name, inode=entry.inode()):
                    folders.append(child)
            elif media_type := media_types.get(name[name.rfind(b".") :].lower()):
                self._file(folder, entry, media_type)
        return folders

    def link(self, folder: _Folder, entry: os.DirEntry[bytes]) -> _Folder | None:
        """Judge a symbolic link; returns the folder to go on with where the rules allow to follow it."""
        name = entry.name
        target = self.links.resolve(self.base + folder.disk + name)
        text = folder.text + decode_name(name)
        if target.is_folder:
            if target.excluded:
                self.excluded[source_of_text(text)] = target.excluded
                return None
            return self._subfolder(replace(folder, is_outside=True), name)
        media_type = self.rules.media_types.get(name[name.rfind(b".") :].lower())
        if media_type is not None:
            self._file(folder, entry, media_type, problem=target.problem, excluded=target.excluded, follow=True)
        return None

    def finish(self) -> Scan:
        for disk_path, problem in self.placeholders.found():
            source = source_of(disk_path)
            if self.files[source].disk_path == disk_path:
                self.files[source] = replace(self.files[source], problem=problem)
        return Scan(
            files=dict(sorted(self.files.items())),
            unreadable_folders=tuple(sorted(self.unreadable)),
            excluded_folders=dict(sorted(self.excluded.items())),
            warnings=tuple(sorted(self.warnings)),
        )

    def _ignores(self, folder: _Folder, entries: list[os.DirEntry[bytes]]) -> Ignores:
        ignores = folder.ignores
        present = {entry.name for entry in entries if entry.name.startswith(b".")}
        for name in IGNORE_FILES:
            if name in present and (data := read_ignore_file(self.base + folder.disk + name)) is not None:
                ignores, warnings = ignores.with_file(name, data, folder=folder.text)
                self.warnings.update(map(source_of_text, warnings))
        if OBSIDIAN_FOLDER in present:
            data = read_ignore_file(self.base + folder.disk + OBSIDIAN_FOLDER + b"/app.json")
            if data is not None:
                ignores, warnings = ignores.with_obsidian(data, folder=folder.text)
                self.warnings.update(map(source_of_text, warnings))
        return ignores

    def _subfolder(self, folder: _Folder, name: bytes, *, inode: int | None = None) -> _Folder | None:
        text = folder.text + decode_name(name)
        disk = folder.disk + name
        reason = names.foreign_folder(name)
        if reason is None and self.links.is_home(self.base + disk, inode=inode):
            reason = "Vaultline's own folder (VAULTLINE_HOME)"
        if reason is None and folder.ignores:
            reason = folder.ignores.reason(text, is_folder=True)
        if reason is None and folder.is_outside and not self.links.enter(self.base + disk):
            reason = "a folder outside the vault that another link has led to"
        if reason is not None:
            self.excluded[source_of_text(text)] = reason
            return None
        return _Folder(disk + b"/", text + "/", folder.ignores, folder.is_outside)

    def _file(
        self,
        folder: _Folder,
        entry: os.DirEntry[bytes],
        media_type: MediaType,
        *,
        problem: str | None = None,
        excluded: str | None = None,
        follow: bool = False,
    ) -> None:
        name = entry.name
        if names.is_temporary(name):
            return
        decoded = decode_name(name)
        text = folder.text + decoded
        excluded = excluded or names.unwanted_copy(decoded)
        if excluded is None and folder.ignores:
            excluded = folder.ignores.reason(text, is_folder=False)
        size = mtime_ns = 0
        source = source_of_text(text)
        disk_path = folder.disk + name
        try:
            status = entry.stat(follow_symlinks=follow and not problem and not excluded)
        except FileNotFoundError:
            return  # gone since the folder was listed
        except OSError as error:
            problem = problem or f"its size and date cannot be read: {error.strerror}"
        else:
            size, mtime_ns = status.st_size, status.st_mtime_ns
            if excluded is None:
                problem = problem or unreadable(self.base + disk_path, status)
                if problem is None:
                    self.placeholders.look(disk_path, status)
        self._keep(
            FoundFile(source, disk_path, size, mtime_ns, media_type, None if excluded else problem, excluded),
        )

    def _evicted_by_icloud(self, folder: _Folder, entry: os.DirEntry[bytes]) -> None:
        """`.note.md.icloud` stands for a note.md whose content is only in the cloud: the note is not gone."""
        name = entry.name[1 : -len(b".icloud")]
        media_type = self.rules.media_types.get(name[name.rfind(b".") :].lower())
        if media_type is None or names.is_hidden(name):
            return
        text = folder.text + decode_name(name)
        if names.unwanted_copy(text) or (folder.ignores and folder.ignores.reason(text, is_folder=False)):
            return
        if not os.path.lexists(self.base + folder.disk + name):
            problem = "only in iCloud: download it to this machine"
            self._keep(FoundFile(source_of_text(text), folder.disk + name, 0, 0, media_type, problem=problem))

    def _keep(self, found: FoundFile) -> None:
        source = found.source
        if len(source) * 4 > SOURCE_LIMIT and len(source.encode()) > SOURCE_LIMIT:
            self.warnings.add(f"{source[:100]}...: left out, its path is longer than {SOURCE_LIMIT:,} bytes")
            return
        other = self.files.get(source)
        if other is None:
            self.files[source] = found
            return
        # Two names on disk that are one name to people (composed and decomposed accents). The composed one is kept.
        self.files[source] = min(found, other, key=lambda file: (file.disk_path != source.encode(), file.disk_path))
        self.warnings.add(
            f"{source}: two files have this name, written with different Unicode; only one of them is read. Rename one"
        )


def scan(root: Path, *, rules: ScanRules) -> Scan:
    """List the files of the vault at `root`.

    Raises VaultUnavailable when the root is missing, a file or cannot be listed, or when an ignore file at the top
    cannot be understood: what may be indexed is then unknown, and nothing may be deleted.
    """
    disk_root = os.path.realpath(os.fsencode(root))
    try:
        walk = _Walk(disk_root, rules)
        first = Ignores(setting=from_setting(rules.exclude), gitignore=above_vault(disk_root))
        stack = walk.folder(_Folder(b"", "", first))
    except FileNotFoundError:
        raise VaultUnavailable(f"vault {root}: no such folder. Set VAULT_PATH to the folder of notes") from None
    except NotADirectoryError:
        raise VaultUnavailable(f"vault {root}: not a folder. Set VAULT_PATH to the folder of notes") from None
    except OSError as error:
        raise VaultUnavailable(f"vault {root}: cannot be read: {error.strerror}") from error
    except IgnoreFileError as error:
        raise VaultUnavailable(f"vault {root}: {error}; correct or remove that file") from error
    while stack or walk.later:
        if not stack:  # links come last and in order, so that a followed folder is found by the same way every time
            walk.later.sort(key=lambda item: item[0].disk + item[1].name, reverse=True)
            child = walk.link(*walk.later.pop())
            stack.extend([child] if child else [])
            continue
        folder = stack.pop()
        try:
            stack.extend(walk.folder(folder))
        except (OSError, IgnoreFileError) as error:
            source = source_of_text(folder.text.rstrip("/"))
            reason = error.strerror if isinstance(error, OSError) else source_of_text(str(error))
            walk.unreadable.add(source)
            walk.warnings.add(f"{source}: the folder cannot be read ({reason}); its documents stay as they are")
    return walk.finish()
