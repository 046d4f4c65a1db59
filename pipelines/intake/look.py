"""One look at the vault beside what the tables know, and the dates that git gives."""

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import Literal

from pipelines.errors import DocumentError
from pipelines.resources.store import Store
from pipelines.storage import documents
from pipelines.storage.database import Connection
from pipelines.vault.changes import Differences, Known, find_differences, is_suspicious_loss
from pipelines.vault.content import hash_file
from pipelines.vault.folders import UPLOADS, folder_of, is_upload
from pipelines.vault.git_history import git_dates, head_commit
from pipelines.vault.rules import ScanRules
from pipelines.vault.scan import Scan, scan
from pipelines.vault.uploads import scan_uploads

Part = Literal["all", "vault", "uploads"]
"""What a look is at: uploads have a root of their own, which can be looked at while the vault is away."""

_DAY_NS = 86_400 * 10**9


@dataclass(frozen=True)
class Look:
    """One look at the files beside what the tables know: nothing has been read or written yet."""

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


def look(
    store: Store, connection: Connection, *, full: bool = False, confirm_deletes: bool = False, part: Part = "all"
) -> Look:
    """Scan the vault and the uploads and compare. `full` reads every file again, whatever its size and time say.

    Documents that other settings would put into another folder are put there. Uploads that seem to be gone because
    their folder is away stay, unless `confirm_deletes`. Raises VaultUnavailable if the vault's root cannot be read.
    """
    settings = store.settings
    found = _scan(store, part, confirm_deletes=confirm_deletes)
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
        if part == "all" or is_upload(source) == (part == "uploads")
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
    seen = Look(
        scan=found,
        known=known,
        differences=find_differences(found, known, now_ns=time.time_ns(), full_hash_ns=full_hash_ns),
        folders=folders,
    )
    return seen if confirm_deletes else _keep_uploads(store, seen)


def _scan(store: Store, part: Part, *, confirm_deletes: bool) -> Scan:
    scans = []
    if part != "uploads":
        scans.append(scan(store.vault, rules=ScanRules.from_settings(store.settings, store.vault)))
    if part != "vault" and store.uploads is not None:
        uploads = scan_uploads(store.uploads)
        scans.append(replace(uploads, unreadable_folders=()) if confirm_deletes else uploads)
    return Scan(
        files={source: file for found in scans for source, file in found.files.items()},
        unreadable_folders=tuple(folder for found in scans for folder in found.unreadable_folders),
        excluded_folders={folder: why for found in scans for folder, why in found.excluded_folders.items()},
        warnings=tuple(warning for found in scans for warning in found.warnings),
    )


def _keep_uploads(store: Store, seen: Look) -> Look:
    """Take most of the uploads at once for away, not for gone. The vault's files do not wait for that to be settled."""
    settings, different = store.settings, seen.differences
    held = [row for row in seen.known.values() if is_upload(row.source) and row.content_hash is not None]
    lost = [row for row in different.vanished if is_upload(row.source)]
    away = UPLOADS in seen.scan.unreadable_folders
    if not held or not (
        away
        or is_suspicious_loss(
            lost,
            held,
            fraction=settings.mass_delete_fraction,
            minimum=settings.mass_delete_minimum,
            may_be_empty=True,  # the folder's mark says that it is there
        )
    ):
        return seen
    what = "is not there, or not mounted" if away else f"has lost {len(lost)} of {len(held)} documents"
    warning = f"the folder of uploads {store.uploads} {what}; they stay in the index (--allow-deletes removes them)"
    kept = tuple(row for row in different.vanished if not is_upload(row.source))
    return replace(
        seen,
        scan=replace(seen.scan, warnings=(*seen.scan.warnings, warning)),
        differences=replace(different, vanished=kept),
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
                path, follow_links = store.place(file.disk_path)
                if hash_file(path, follow_links=follow_links) == before.content_hash:
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
        documents.date_documents(
            connection,
            {source: (date.at, date.commit) for source, date in dates.items() if not is_upload(source)},
        )
        documents.put_fact(connection, "dated_head", head)
