"""What readers of the index see besides search results: documents, their text, questions without an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row, dict_row

from pipelines.storage.database import Connection
from pipelines.storage.queries import query

STATES = ("indexed", "excluded", "quarantined", "pending")
OUTLINE_LIMIT = 500
"""Headings of one outline."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in a list. `reason`: why it is excluded or in quarantine. `chunks`: passages that search can find."""

    source: str
    folder: str
    title: str
    locale: str
    media_type: str
    tags: list[str]
    modified_at: datetime
    chunks: int
    state: str = "indexed"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StoredText:
    """A document's text, cut to what was asked for, of `characters` in all.

    `outline` holds {"level", "line", "offset", "title"} for each heading as it is written; `line` is of the file,
    `offset` into the text, None where only the passages are left.
    """

    source: str
    folder: str
    title: str
    locale: str
    media_type: str
    tags: list[str]
    properties: dict[str, Any]
    modified_at: datetime
    characters: int
    content: str
    outline: list[dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class KeyPassage:
    """A passage that stands for its document."""

    ordinal: int
    section: str
    content: str
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None


def list_documents(
    connection: Connection,
    *,
    folders: Sequence[str] | None = None,
    prefix: str | None = None,
    state: str | None = None,
    after: str | None = None,
    limit: int,
) -> list[ListedDocument]:
    """Documents in any state, in the order of their sources, after the source `after`.

    `folders` are partition keys; with them, `prefix` also takes documents whose source begins with it.
    """
    parameters = _place(folders, prefix, after, limit) | {"state": state}
    with connection.cursor(row_factory=class_row(ListedDocument)) as cursor:
        return cursor.execute(query("serving_documents"), parameters).fetchall()


def list_readable(
    connection: Connection,
    *,
    folders: Sequence[str] | None = None,
    prefix: str | None = None,
    after: str | None = None,
    limit: int,
) -> list[ListedDocument]:
    """The same, of the documents that search can find."""
    with connection.cursor(row_factory=class_row(ListedDocument)) as cursor:
        return cursor.execute(query("serving_readable"), _place(folders, prefix, after, limit)).fetchall()


def read_text(connection: Connection, source: str, *, offset: int = 0, limit: int) -> StoredText | None:
    """The text that a document's passages were made from, or None if no such document can be read."""
    parameters = {"source": source, "offset": offset, "limit": limit, "headings": OUTLINE_LIMIT}
    with connection.cursor(row_factory=class_row(StoredText)) as cursor:
        return cursor.execute(query("serving_text"), parameters).fetchone()


def key_passages(connection: Connection, source: str, *, limit: int) -> list[KeyPassage]:
    """The opening of a document and the passages nearest to the mean of its vectors, in reading order."""
    with connection.cursor(row_factory=class_row(KeyPassage)) as cursor:
        found = cursor.execute(query("serving_key_passages"), {"source": source, "limit": limit}).fetchall()
    return sorted(found, key=lambda passage: passage.ordinal)


def list_unanswered(connection: Connection, *, offset: int = 0, limit: int) -> list[dict[str, Any]]:
    """Questions that found nothing good enough, the most frequent first.

    Each has id, question, locale, times, first_at, last_at and drafted_at (None: no draft was written for it).
    """
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("serving_unanswered"), {"offset": offset, "limit": limit}).fetchall()


def index_state(connection: Connection) -> dict[str, Any] | None:
    """Of the active generation: id, model, documents, waiting (not published yet) and quarantined; or None."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("serving_index")).fetchone()


def _place(folders: Sequence[str] | None, prefix: str | None, after: str | None, limit: int) -> dict[str, object]:
    return {"folders": None if folders is None else list(folders), "prefix": prefix, "after": after, "limit": limit}
