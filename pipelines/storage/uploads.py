"""How far uploaded files are: what the tables say of one content under one source."""

from dataclasses import dataclass

from psycopg.rows import class_row

from pipelines.storage.database import Connection
from pipelines.storage.queries import query


@dataclass(frozen=True, slots=True)
class UploadState:
    """One upload in the tables. `state` and `reason` are as in `document_status`, for the content of `content_hash`."""

    source: str
    content_hash: str | None
    state: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class UploadSteps(UploadState):
    """The same with what has been made of it: its text, its chunks, vectors of its distinct texts."""

    parsed: bool
    chunked: bool
    chunks: int
    texts: int
    embedded: int


def upload_states(connection: Connection) -> dict[str, UploadState]:
    """Every upload that the tables know, by source."""
    with connection.cursor(row_factory=class_row(UploadState)) as cursor:
        return {row.source: row for row in cursor.execute(query("upload_states"))}


def upload_steps(connection: Connection, source: str) -> UploadSteps | None:
    """How far one upload is, or None while the tables do not know it."""
    with connection.cursor(row_factory=class_row(UploadSteps)) as cursor:
        return cursor.execute(query("upload_steps"), {"source": source}).fetchone()


def document_ids(connection: Connection, source: str) -> list[int]:
    """The row of a source, if there is one."""
    return [int(str(row[0])) for row in connection.execute(query("upload_row"), {"source": source})]
