"""Questions about the state as a whole: status, coverage, consistency."""

from collections.abc import Mapping
from typing import Any

from psycopg.rows import dict_row

from pipelines.storage.database import Connection
from pipelines.storage.generations import Generation
from pipelines.storage.queries import query


def pending_folders(
    connection: Connection, *, parsers: Mapping[str, str], chunker: str, describer: str
) -> dict[str, int]:
    """Documents with work left by folder, given the fingerprints that the settings want."""
    parameters = {
        "media_types": list(parsers),
        "fingerprints": list(parsers.values()),
        "chunker": chunker,
        "describer": describer,
    }
    return {str(folder): int(str(count)) for folder, count in connection.execute(query("pending_folders"), parameters)}


def count_states(connection: Connection) -> dict[str, int]:
    """Documents by state: indexed, excluded, quarantined, pending."""
    counts = dict.fromkeys(("indexed", "excluded", "quarantined", "pending"), 0)
    return counts | {str(state): int(str(count)) for state, count in connection.execute(query("count_states"))}


def folder_report(connection: Connection) -> list[dict[str, Any]]:
    """Folder, documents that take part, chunks that search can find."""
    return _rows(connection, "folder_report")


def count_chunks(connection: Connection) -> int:
    """Chunks of the present version of every document."""
    row = connection.execute(query("count_chunks")).fetchone()
    return int(str(row[0])) if row else 0


def generation_report(connection: Connection) -> list[dict[str, Any]]:
    """Every generation with its published chunks and those it lacks."""
    return _rows(connection, "generation_report")


def made_by_older_versions(connection: Connection, *, parsers: Mapping[str, str], chunker: str) -> list[str]:
    """Sources whose chunks were made by another parser or chunker than the wanted ones."""
    parameters = {"media_types": list(parsers), "fingerprints": list(parsers.values()), "chunker": chunker}
    return [str(row[0]) for row in connection.execute(query("made_by_older_versions"), parameters)]


def document_warnings(connection: Connection) -> list[tuple[str, str]]:
    """What people should know of documents that were processed: (source, warning). Never text of a note."""
    return [(str(source), str(warning)) for source, warning in connection.execute(query("document_warnings"))]


def describe_source(connection: Connection, source: str) -> dict[str, Any] | None:
    """Everything that is stored of one document but its text, or None."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("describe_source"), {"source": source}).fetchone()


def progress(connection: Connection) -> dict[str, tuple[int, int]]:
    """Done and total of documents chunked, vectors made and documents published."""
    row = connection.execute(query("progress")).fetchone()
    numbers = [int(str(value)) for value in row] if row else [0] * 6
    return {
        name: (numbers[place], numbers[place + 1])
        for place, name in ((0, "documents"), (2, "vectors"), (4, "published"))
    }


def check_generation(connection: Connection, generation: Generation) -> dict[str, int]:
    """Counts that must be 0 in a healthy generation, and `refused`, which a person should know."""
    parameters = {"fingerprint": generation.fingerprint, "generation": generation.id}
    found: dict[str, int] = {}
    with connection.cursor(row_factory=dict_row) as cursor:
        for name in ("check_vectors", "check_counts", "check_orphans"):
            row = cursor.execute(query(name, table=generation.table), parameters).fetchone() or {}
            found |= {f"{name.removeprefix('check_')}_{key}": int(value) for key, value in row.items()}
    return found


def _rows(connection: Connection, name: str) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query(name)).fetchall()
