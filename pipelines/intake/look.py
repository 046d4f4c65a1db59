"""One look at the vault beside what the tables know, and the dates that git gives."""

import contextlib
import os
import time
from dataclasses import dataclass, field, replace

from pipelines.errors import DocumentError
from pipelines.resources.store import Store
from pipelines.storage import documents
from pipelines.storage.database import Connection
from pipelines.vault.changes import Differences, Known, find_differences
from pipelines.vault.content import hash_file
from pipelines.vault.folders import folder_of
from pipelines.vault.git_history import git_dates, head_commit
from pipelines.vault.rules import ScanRules
from pipelines.vault.scan import Scan, scan

_DAY_NS = 86_400 * 10**9


@dataclass(frozen=True)
class Look:
    """One look at the vault beside what the tables know: nothing has been read or written yet."""

    scan: Scan
    known: dict[str, Known]
    differences: Differences
    folders: dict[str, str] = field(default_factory=dict)

    def touched_folders(self) -> set[str]:
        """Partition keys with something to look at."""
        different = self.differences
        found = (*different.to_read, *different.left_out, *different.problems)
        return {self.folders[file.source] for file in found} | {
            row.folder for row in (*different.vanished, *different.shut_out)
        }


def look(store: Store, connection: Connection, *, full: bool = False) -> Look:
    """Scan the vault and compare. `full` reads every file again, whatever its size and time say.

    Documents that other settings would put into another folder are put there. Raises VaultUnavailable if the root
    cannot be read.
    """
    settings = store.settings
    found = scan(store.vault, rules=ScanRules.from_settings(settings, store.vault))
    known = {
        source: Known(
            id=row.id,
            source=source,
            folder=row.folder,
            size=row.size,
            mtime_ns=row.mtime_ns,
            content_hash=row.content_hash,
            verified_ns=row.verified_ns,
            left_out=row.left_out,
            problem=row.problem,
        )
        for source, row in documents.known_documents(connection).items()
    }
    full_hash_ns = 0 if full else int(settings.full_hash_days * _DAY_NS)
    folders = {
        source: folder_of(source, depth=settings.partition_depth, buckets=settings.partition_buckets)
        for source in found.files
    }
    astray = {row.id: folders[source] for source, row in known.items() if folders.get(source, row.folder) != row.folder}
    if astray:
        documents.refolder(connection, astray)
        known = {source: replace(row, folder=folders.get(source, row.folder)) for source, row in known.items()}
    return Look(
        scan=found,
        known=known,
        differences=find_differences(found, known, now_ns=time.time_ns(), full_hash_ns=full_hash_ns),
        folders=folders,
    )


def settle(store: Store, connection: Connection, seen: Look) -> Look:
    """Read the known files that only look changed (touched, or too young to trust their date) and drop the unchanged.

    So a sync after a `touch` of the whole vault reads it once and starts no run.
    """
    different = seen.differences
    same: list[tuple[int, int, int, int]] = []
    to_read = []
    for file in different.to_read:
        before = seen.known.get(file.source)
        verified_ns = time.time_ns()
        if before is not None and before.content_hash is not None and before.problem is None:
            with contextlib.suppress(OSError, DocumentError):
                path = os.path.join(os.fsencode(store.vault), file.disk_path)  # noqa: PTH118  # bytes
                if hash_file(path, follow_links=store.settings.vault_follow_links) == before.content_hash:
                    same.append((before.id, file.size, file.mtime_ns, verified_ns))
                    continue
        to_read.append(file)
    if not same:
        return seen
    with connection.transaction():
        documents.verify_documents(connection, same)
    settled = replace(different, to_read=tuple(to_read), unchanged=different.unchanged + len(same))
    return replace(seen, differences=settled)


def refresh_dates(store: Store, connection: Connection) -> None:
    """A commit changes dates without changing a file: date all documents once for every new HEAD."""
    head = head_commit(store.vault)
    if head is None or head == documents.get_fact(connection, "dated_head"):
        return
    dates = git_dates(store.vault)
    with connection.transaction():
        documents.date_documents(connection, {source: (date.at, date.commit) for source, date in dates.items()})
        documents.put_fact(connection, "dated_head", head)
