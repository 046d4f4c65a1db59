"""Rows of `document` and what hangs on them: quarantine, tombstones, dates, facts about the vault."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from pipelines.storage.database import Connection
from pipelines.storage.queries import query


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """What a scan knows of a document."""

    id: int
    source: str
    folder: str
    size: int
    mtime_ns: int
    content_hash: str | None
    verified_ns: int
    chunked: bool
    left_out: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One version of one file, ready to be stored. `modified_at` is aware; `modified_from` names its origin."""

    source: str
    disk_path: bytes
    folder: str
    media_type: str
    size: int
    mtime_ns: int
    content_hash: str
    verified_ns: int
    modified_at: datetime
    modified_from: str
    commit_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A document that left the vault lately."""

    content_hash: str
    source: str
    modified_at: datetime
    modified_from: str


def known_documents(connection: Connection) -> dict[str, DocumentRow]:
    """All documents by source."""
    with connection.cursor(row_factory=class_row(DocumentRow)) as cursor:
        return {row.source: row for row in cursor.execute(query("known_documents"))}


def lock_scans(connection: Connection) -> None:
    """Wait for the transaction-free right to compare the vault with the tables: one scan at a time, in order."""
    connection.execute("SELECT pg_advisory_lock(%s, 1)", (_NAMESPACE,))


def unlock_scans(connection: Connection) -> None:
    """Give that right back."""
    connection.execute("SELECT pg_advisory_unlock(%s, 1)", (_NAMESPACE,))


def claim_uploads(connection: Connection) -> bool:
    """Whether nobody else indexes the uploads: then it is our turn, until the end of the session."""
    return connection.execute("SELECT pg_try_advisory_lock(%s, 3)", (_NAMESPACE,)).fetchone() == (True,)


_NAMESPACE = 0x7661756C  # "vaul": first key of this application's advisory locks


def put_documents(connection: Connection, versions: Iterable[FileVersion]) -> None:
    """Insert new files and new contents of known ones, and forget why an earlier content failed."""
    rows = [{name: getattr(version, name) for name in FileVersion.__slots__} for version in versions]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.executemany(query("put_document"), rows, returning=True)
        ids = [result.fetchone()[0] for result in cursor.results()]  # type: ignore[index]
    connection.execute(query("clear_quarantine"), {"ids": ids})


def move_documents(connection: Connection, moves: Mapping[int, FileVersion]) -> None:
    """Rename documents, by id, to the sources of the given versions (same content)."""
    # Two files may have swapped their names: step aside first, or the unique source would be in the way.
    connection.execute("UPDATE document SET source = '//' || id WHERE id = ANY(%s)", (list(moves),))
    with connection.cursor() as cursor:
        cursor.executemany(
            query("move_document"),
            [
                {
                    "id": identity,
                    "source": to.source,
                    "disk_path": to.disk_path,
                    "folder": to.folder,
                    "media_type": to.media_type,
                    "mtime_ns": to.mtime_ns,
                    "verified_ns": to.verified_ns,
                }
                for identity, to in moves.items()
            ],
        )


def verify_documents(connection: Connection, rows: Sequence[tuple[int, int, int, int]]) -> None:
    """Record (id, size, mtime_ns, verified_ns) of files whose bytes proved to be the same."""
    ids, sizes, mtimes, verified = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    connection.execute(query("verify_documents"), {"ids": ids, "sizes": sizes, "mtimes": mtimes, "verified": verified})
    connection.execute("DELETE FROM quarantine WHERE stage = 'raw_files' AND document_id = ANY(%s)", (ids,))


def delete_documents(connection: Connection, ids: Sequence[int], *, bury: bool = True) -> None:
    """Delete documents with everything made of them; `bury` keeps a tombstone, so that a move is recognised later."""
    lock_documents(connection, ids)
    if bury:
        connection.execute(query("bury_documents"), {"ids": list(ids)})
    connection.execute(query("delete_documents"), {"ids": list(ids)})


def put_left_out(connection: Connection, found: Any, *, folder: str) -> None:
    """Store that a rule leaves a file out, and drop whatever was made of it."""
    connection.execute("DELETE FROM document WHERE source = %s AND content_hash IS NOT NULL", (found.source,))
    connection.execute(
        "DELETE FROM quarantine WHERE document_id = (SELECT id FROM document WHERE source = %s)", (found.source,)
    )
    connection.execute(query("put_left_out"), _found(found, folder) | {"excluded": found.excluded})


def put_problem(connection: Connection, found: Any, *, folder: str) -> None:
    """Store that a file cannot be read; what was made of its last readable version keeps serving."""
    connection.execute(query("put_problem"), _found(found, folder) | {"reason": found.problem})


def _found(found: Any, folder: str) -> dict[str, object]:
    return {
        "source": found.source,
        "disk_path": found.disk_path,
        "folder": folder,
        "media_type": found.media_type,
        "size": found.size,
        "mtime_ns": found.mtime_ns,
    }


def tombstones_of(connection: Connection, hashes: Sequence[str]) -> dict[str, Tombstone]:
    """The youngest tombstone of each content that has one."""
    with connection.cursor(row_factory=class_row(Tombstone)) as cursor:
        return {row.content_hash: row for row in cursor.execute(query("tombstones_of"), {"hashes": list(hashes)})}


def drop_tombstones(connection: Connection, sources: Sequence[str]) -> None:
    """Forget tombstones whose documents are back."""
    connection.execute(query("drop_tombstones"), {"sources": list(sources)})


def date_documents(connection: Connection, dates: Mapping[str, tuple[datetime, str]]) -> int:
    """Store (author date, commit) from git by source where it differs; returns how many documents changed."""
    cursor = connection.execute(
        query("date_documents"),
        {
            "sources": list(dates),
            "dates": [date for date, _ in dates.values()],
            "commits": [commit for _, commit in dates.values()],
        },
    )
    return cursor.rowcount


def quarantine(connection: Connection, document_id: int, *, stage: str, key: str, reason: str) -> None:
    """Remember why a document failed at a stage with the input `key`; the same input is not tried again."""
    connection.execute(query("put_quarantine"), {"id": document_id, "stage": stage, "input": key, "reason": reason})


def release(connection: Connection, document_id: int, stage: str) -> None:
    """Forget a failure after the stage has succeeded."""
    connection.execute("DELETE FROM quarantine WHERE document_id = %s AND stage = %s", (document_id, stage))


def release_content(connection: Connection, content_hash: str, stage: str) -> None:
    """The same for every document of a content: a stage that works once a content has succeeded for them all."""
    connection.execute(
        "DELETE FROM quarantine q USING document d WHERE d.id = q.document_id AND d.content_hash = %s AND q.stage = %s",
        (content_hash, stage),
    )


def distrust(connection: Connection, document_id: int) -> None:
    """Have the next scan read a file again whatever its size and date say: its content was not what its hash said."""
    connection.execute("UPDATE document SET verified_ns = 0 WHERE id = %s", (document_id,))


def lock_documents(connection: Connection, ids: Iterable[int]) -> None:
    """Lock rows that the transaction will change, in the order in which every writer locks them: no deadlocks."""
    connection.execute("SELECT id FROM document WHERE id = ANY(%s) ORDER BY id FOR UPDATE", (list(ids),))


def refolder(connection: Connection, folders: Mapping[int, str]) -> None:
    """Put documents, by id, into other partitions: the settings that say which have changed."""
    connection.execute(query("refolder"), {"ids": list(folders), "folders": list(folders.values())})


def quarantined(connection: Connection) -> list[dict[str, Any]]:
    """All failures: source, stage, reason, since."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("quarantined")).fetchall()


def retry_quarantined(connection: Connection, sources: Sequence[str] | None) -> list[str]:
    """Forget failures, of all documents or of some, so that the next sync tries again; returns their sources."""
    parameters = {"sources": None if sources is None else list(sources)}
    return sorted({str(row[0]) for row in connection.execute(query("retry_quarantined"), parameters)})


def folders(connection: Connection) -> list[str]:
    """Partition keys that have documents."""
    return [str(row[0]) for row in connection.execute(query("folders"))]


def get_fact(connection: Connection, name: str) -> Any:
    """A stored fact about the vault, or None."""
    row = connection.execute(query("get_fact"), {"name": name}).fetchone()
    return row[0] if row else None


def put_fact(connection: Connection, name: str, value: object) -> None:
    """Store a fact about the vault."""
    connection.execute(query("put_fact"), {"name": name, "value": Jsonb(value)})
