"""Bring the `document` table in line with the vault: what `raw_files` does."""

import contextlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

from pipelines.errors import DocumentError, VaultShrank
from pipelines.figures import Work
from pipelines.intake.look import Look, Part, look, refresh_dates
from pipelines.resources.store import Store
from pipelines.storage import documents
from pipelines.storage.database import Connection
from pipelines.storage.documents import FileVersion
from pipelines.vault.changes import Known, is_suspicious_loss, match_moves
from pipelines.vault.content import hash_file
from pipelines.vault.folders import UPLOADS_KEY, is_upload
from pipelines.vault.git_history import GitDate, git_dates
from pipelines.vault.scan import FoundFile
from pipelines.vault.uploads import mark

_BATCH = 500
_ALL_DATES = 200
"""From this many changed files on, one pass over the whole git history is cheaper than one that stops early."""

T = TypeVar("T")


def take_in(store: Store, folders: Sequence[str], work: Work, *, full: bool, confirm_deletes: bool) -> list[str]:
    """Store what changed in these folders; returns the scan's warnings.

    Moves are recognised over the whole vault, so that a file that left one of the folders for another is renamed, not
    deleted. Uploads alone are taken in without a look at the vault. Raises VaultUnavailable, and VaultShrank when most
    of the vault is gone and `confirm_deletes` is not set.
    """
    part: Part = "uploads" if set(folders) == {UPLOADS_KEY} else "all"
    with store.database.connect(autocommit=True) as connection:
        documents.lock_scans(connection)
        try:
            seen = look(store, connection, full=full, confirm_deletes=confirm_deletes, part=part)
            _mark_uploads(store, seen)
            intake = _Intake(store, connection, seen, frozenset(folders), work)
            refuse_loss(store, seen, confirm_deletes=confirm_deletes)
            intake.run()
            if part == "all":
                refresh_dates(store, connection)
        finally:
            documents.unlock_scans(connection)
    return list(seen.scan.warnings) + intake.warnings


def refuse_loss(store: Store, seen: Look, *, confirm_deletes: bool) -> None:
    """Refuse to delete most of the vault unasked. Files that only moved are not lost. Raises VaultShrank.

    Uploads do not count: they neither hide the vault's loss nor stand in its way (see `look`).
    """
    settings, known = store.settings, {source: row for source, row in seen.known.items() if not is_upload(source)}
    new_sizes = Counter(
        file.size for file in seen.differences.to_read if file.source not in known and not is_upload(file.source)
    )
    lost = []
    for row in seen.differences.vanished:
        if is_upload(row.source):
            continue
        if new_sizes[row.size] > 0:
            new_sizes[row.size] -= 1  # very likely moved
        else:
            lost.append(row)
    if not confirm_deletes and is_suspicious_loss(
        lost, known.values(), fraction=settings.mass_delete_fraction, minimum=settings.mass_delete_minimum
    ):
        raise VaultShrank(
            f"{len(lost)} of {len(known)} documents are gone from {store.vault}: is it mounted and complete? "
            "Nothing was deleted. If they were really deleted, run again with --allow-deletes"
        )


def _mark_uploads(store: Store, seen: Look) -> None:
    """A folder with uploads is the right one: once it is marked, it may also be empty."""
    if store.uploads is not None and any(is_upload(source) for source in seen.scan.files):
        with contextlib.suppress(OSError):
            mark(store.uploads)


@dataclass
class _Read:
    """A file as it was hashed."""

    found: FoundFile
    content_hash: str
    verified_ns: int


class _Intake:
    """The changes of one look, applied to some folders."""

    def __init__(self, store: Store, connection: Connection, seen: Look, folders: frozenset[str], work: Work) -> None:
        self.store = store
        self.connection = connection
        self.seen = seen
        self.selected = folders
        self.work = work
        self.warnings: list[str] = []
        self.vanished: list[Known] = list(seen.differences.vanished)
        self.dates: dict[str, GitDate] = {}

    def run(self) -> None:
        different, selected = self.seen.differences, self.selected
        for found in self.seen.scan.files.values():
            if self._folder(found) in selected:
                self.work.count(self._folder(found), seen=1)
        self._date(found for found in different.to_read if self._folder(found) in selected)
        for batch in _batches([file for file in different.to_read if self._folder(file) in selected]):
            self._store([read for file in batch if (read := self._read(file)) is not None])
        self._moved_away()
        gone = [row for row in self.vanished if row.folder in selected]
        for rows in _batches(gone):
            with self.connection.transaction():
                documents.delete_documents(self.connection, [row.id for row in rows])
        for row in gone:
            self.work.count(row.folder, deleted=1)
            self.work.tell(row.folder, row.source, change="deleted")
        self._rules(row for row in different.shut_out if row.folder in selected)
        for found in (*different.left_out, *different.problems):
            if (folder := self._folder(found)) in selected:
                with self.connection.transaction():
                    put = documents.put_left_out if found.excluded else documents.put_problem
                    put(self.connection, found, folder=folder)

    def _read(self, file: FoundFile) -> _Read | None:
        verified_ns = time.time_ns()
        try:
            path, follow_links = self.store.place(file.disk_path)
            digest = hash_file(path, follow_links=follow_links)
        except FileNotFoundError:
            return None  # gone since the scan; the next one says so
        except DocumentError as error:
            with self.connection.transaction():
                problem = FoundFile(file.source, file.disk_path, file.size, file.mtime_ns, file.media_type, str(error))
                documents.put_problem(self.connection, problem, folder=self._folder(file))
            return None
        return _Read(file, digest, verified_ns)

    def _store(self, reads: list[_Read]) -> None:
        known = self.seen.known
        same = [r for r in reads if (row := known.get(r.found.source)) and row.content_hash == r.content_hash]
        changed = [r for r in reads if (row := known.get(r.found.source)) and row.content_hash != r.content_hash]
        new = [r for r in reads if r.found.source not in known]
        moves = match_moves(self.vanished, {r.found.source: r.content_hash for r in new})
        self.vanished = [row for row in self.vanished if row.source not in {move.source for move in moves.values()}]
        buried = documents.tombstones_of(self.connection, [r.content_hash for r in new])
        for read in new:
            folder = self._folder(read.found)
            returned = read.found.source in moves or read.content_hash in buried
            change = "moved" if returned else "added"
            self.work.count(folder, **{change: 1})
            self.work.tell(folder, read.found.source, change=change, bytes=read.found.size)
        for read in changed:
            folder = self._folder(read.found)
            self.work.count(folder, changed=1)
            self.work.tell(folder, read.found.source, change="changed", bytes=read.found.size)
        with self.connection.transaction():
            held = [known[r.found.source].id for r in (*same, *changed)]
            documents.lock_documents(self.connection, [*held, *(row.id for row in moves.values())])
            documents.verify_documents(
                self.connection,
                [(known[r.found.source].id, r.found.size, r.found.mtime_ns, r.verified_ns) for r in same],
            )
            documents.move_documents(
                self.connection,
                {moves[r.found.source].id: self._version(r) for r in new if r.found.source in moves},
            )
            fresh = [r for r in new if r.found.source not in moves]
            documents.put_documents(
                self.connection,
                [self._version(r, buried.get(r.content_hash)) for r in fresh] + [self._version(r) for r in changed],
            )
            documents.drop_tombstones(self.connection, [r.found.source for r in new])

    def _moved_away(self) -> None:
        """Documents that left a selected folder for one that this run does not cover are renamed all the same."""
        leaving = {row.size for row in self.vanished if row.folder in self.selected}
        candidates = [
            file
            for file in self.seen.differences.to_read
            if file.source not in self.seen.known and file.size in leaving and self._folder(file) not in self.selected
        ]
        reads = [read for file in candidates if (read := self._read(file)) is not None]
        moves = match_moves(self.vanished, {read.found.source: read.content_hash for read in reads})
        self.vanished = [row for row in self.vanished if row.source not in {move.source for move in moves.values()}]
        with self.connection.transaction():
            documents.move_documents(
                self.connection,
                {moves[r.found.source].id: self._version(r) for r in reads if r.found.source in moves},
            )
        for row in moves.values():
            self.work.count(row.folder, moved=1)
            self.work.tell(row.folder, row.source, change="moved away")

    def _rules(self, rows: Iterable[Known]) -> None:
        """Documents below a folder that a rule now leaves out go at once, without a trace."""
        for batch in _batches(list(rows)):
            with self.connection.transaction():
                documents.delete_documents(self.connection, [row.id for row in batch], bury=False)
            for row in batch:
                self.work.count(row.folder, deleted=1)
                self.work.tell(row.folder, row.source, change="left out")

    def _date(self, files: Iterable[FoundFile]) -> None:
        paths = [file.disk_path for file in files if not is_upload(file.source)]
        if paths:
            only: Collection[bytes] | None = None if len(paths) > _ALL_DATES else paths
            dates = git_dates(self.store.vault, only=only)
            self.dates, self.warnings = dates, [*self.warnings, *dates.warnings]

    def _version(self, read: _Read, buried: documents.Tombstone | None = None) -> FileVersion:
        found = read.found
        date = None if is_upload(found.source) else self.dates.get(found.source)
        modified_at, modified_from, commit = datetime.fromtimestamp(found.mtime_ns / 1e9, UTC), "mtime", None
        if date is not None:
            modified_at, modified_from, commit = date.at, "git", date.commit
        elif buried is not None and buried.modified_from != "git":
            modified_at, modified_from = buried.modified_at, buried.modified_from
        return FileVersion(
            source=found.source,
            disk_path=found.disk_path,
            folder=self._folder(found),
            media_type=found.media_type,
            size=found.size,
            mtime_ns=found.mtime_ns,
            content_hash=read.content_hash,
            verified_ns=read.verified_ns,
            modified_at=modified_at,
            modified_from=modified_from,
            commit_id=commit,
        )

    def _folder(self, found: FoundFile) -> str:
        return self.seen.folders[found.source]


def _batches(items: Sequence[T], size: int = _BATCH) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
