"""Rows of `parsed`, `chunk` and `link`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from pipelines.chunking.chunk import Chunk
from pipelines.parsing.document import Block, Json, Link, MediaType, Page, ParsedDocument
from pipelines.storage.database import Connection
from pipelines.storage.queries import query


@dataclass(frozen=True, slots=True)
class PendingParse:
    """A content without a text under the wanted parser; `fingerprint` is the parser's."""

    id: int
    source: str
    disk_path: bytes
    media_type: MediaType
    content_hash: str
    fingerprint: str
    size: int

    @property
    def key(self) -> str:
        """What a failure is remembered by."""
        return f"{self.content_hash}/{self.fingerprint}"


@dataclass(frozen=True, slots=True)
class PendingChunks:
    """A document whose chunks or description were made from something else than its present text."""

    id: int
    source: str
    folder: str
    content_hash: str
    fingerprint: str
    chunked_from: str | None
    described_from: str | None
    modified_from: str


@dataclass(frozen=True, slots=True)
class Description:
    """What is said of a document besides its chunks."""

    title: str
    locale: str
    tags: tuple[str, ...]
    properties: dict[str, Json]
    links: tuple[Link, ...]
    declared_date: datetime | None
    excluded: str | None


@dataclass(frozen=True, slots=True)
class ChunkChanges:
    """What replacing did: chunks the document has now, texts that came and went."""

    total: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link of a document and where it leads now."""

    source: str
    document_id: int
    position: int
    target: str
    anchor: str | None
    kind: Literal["wikilink", "embed", "markdown"]
    resolved: str | None

    @property
    def link(self) -> Link:
        """The link as it was written."""
        return Link(self.target, self.anchor, self.kind)


def pending_parses(
    connection: Connection, *, folders: Sequence[str], parsers: Mapping[str, str], limit: int
) -> list[PendingParse]:
    """Contents to parse. `parsers` maps media types to the wanted parser's fingerprint."""
    parameters = _wanted(folders, parsers) | {"limit": limit}
    with connection.cursor(row_factory=class_row(PendingParse)) as cursor:
        return cursor.execute(query("pending_parses"), parameters).fetchall()


def put_parsed(connection: Connection, *, content_hash: str, fingerprint: str, document: ParsedDocument) -> None:
    """Store one content's text and structure."""
    body = asdict(document)
    content = body.pop("text")
    parameters = {
        "content_hash": content_hash,
        "fingerprint": fingerprint,
        "body": Jsonb(body),
        "content": content,
    }
    connection.execute(query("put_parsed"), parameters)


def get_parsed(connection: Connection, *, content_hash: str, fingerprint: str) -> ParsedDocument | None:
    """The stored text of one content, or None."""
    row = connection.execute(query("get_parsed"), {"content_hash": content_hash, "fingerprint": fingerprint}).fetchone()
    return None if row is None else _parsed(row[0], str(row[1]))


def _parsed(body: Any, content: str) -> ParsedDocument:
    fields = dict(body)
    fields["blocks"] = tuple(Block(**item) for item in fields["blocks"])
    fields["pages"] = tuple(Page(**item) for item in fields["pages"])
    fields["links"] = tuple(Link(**item) for item in fields["links"])
    for name in ("tags", "aliases", "warnings"):
        fields[name] = tuple(fields[name])
    return ParsedDocument(text=content, **fields)


def notes_digest(connection: Connection) -> str:
    """A digest of all notes' names and contents."""
    row = connection.execute(query("notes_digest")).fetchone()
    return str(row[0]) if row else ""


def notes(connection: Connection) -> dict[str, bytes]:
    """Sources of the notes that take part, and their paths as on disk."""
    return {str(source): bytes(path) for source, path in connection.execute(query("notes"))}  # type: ignore[call-overload]


def pending_chunks(
    connection: Connection,
    *,
    folders: Sequence[str],
    parsers: Mapping[str, str],
    chunker: str,
    describer: str,
    limit: int,
) -> list[PendingChunks]:
    """Documents to chunk or to describe again."""
    parameters = _wanted(folders, parsers) | {"chunker": chunker, "describer": describer, "limit": limit}
    with connection.cursor(row_factory=class_row(PendingChunks)) as cursor:
        return cursor.execute(query("pending_chunks"), parameters).fetchall()


def replace_document(
    connection: Connection,
    pending: PendingChunks,
    description: Description,
    *,
    chunks: Sequence[Chunk] | None,
    chunked_from: str,
    described_from: str,
) -> ChunkChanges | None:
    """Give a document its new chunks (None: they stay) and description, in the caller's transaction.

    Returns None if the document is not what it was when the work began: then nothing is written, and the newer version
    waits for its own turn.
    """
    identity = {"id": pending.id, "content_hash": pending.content_hash, "source": pending.source}
    if connection.execute(query("lock_document"), identity).fetchone() is None:
        return None
    before = [str(row[0]) for row in connection.execute(query("chunk_hashes"), identity)]
    changes = ChunkChanges(len(before), 0, 0)
    if chunks is not None:
        changes = _compare(before, [chunk.text_hash for chunk in chunks])
        connection.execute(query("delete_chunks"), identity)
        with connection.cursor() as cursor:
            cursor.executemany(query("put_chunk"), [_chunk_row(pending.id, chunk) for chunk in chunks])
    connection.execute(query("delete_links"), identity)
    with connection.cursor() as cursor:
        cursor.executemany(
            query("put_link"),
            [
                (pending.id, position, link.target, link.anchor, link.kind)
                for position, link in enumerate(description.links)
            ],
        )
    connection.execute(
        query("describe_document"),
        {
            "id": pending.id,
            "title": description.title,
            "locale": description.locale,
            "tags": list(description.tags),
            "properties": Jsonb(description.properties),
            "excluded": description.excluded,
            "declared_date": description.declared_date,
            "chunked_from": chunked_from,
            "described_from": described_from,
        },
    )
    return changes


def all_links(connection: Connection) -> list[StoredLink]:
    """Every link of the vault."""
    with connection.cursor(row_factory=class_row(StoredLink)) as cursor:
        return cursor.execute(query("all_links")).fetchall()


def resolve_links(connection: Connection, changed: Sequence[tuple[int, int, str | None]]) -> None:
    """Store where links lead: (document id, position, source or None)."""
    ids, positions, resolved = (list(column) for column in zip(*changed, strict=True)) if changed else ([], [], [])
    connection.execute(query("resolve_links"), {"ids": ids, "positions": positions, "resolved": resolved})


def link_state(connection: Connection) -> list[int]:
    """Numbers that change whenever links may lead elsewhere: highest revision, count and youngest of the documents."""
    row = connection.execute(query("link_state")).fetchone()
    assert row is not None
    return [int(str(number)) for number in row]


def purge_due(connection: Connection, *, parsers: Mapping[str, str], tombstone_seconds: float) -> bool:
    """Whether `purge` would find something."""
    parameters = {"seconds": tombstone_seconds, "fingerprints": list(parsers.values())}
    row = connection.execute(query("purge_due"), parameters).fetchone()
    return row is not None and bool(row[0])


def purge(connection: Connection, *, parsers: Mapping[str, str], tombstone_seconds: float) -> int:
    """Drop tombstones past their time and texts that nothing needs; returns how many texts went."""
    connection.execute(query("purge_tombstones"), {"seconds": tombstone_seconds})
    return connection.execute(query("purge_parsed"), {"fingerprints": list(parsers.values())}).rowcount


def _wanted(folders: Sequence[str], parsers: Mapping[str, str]) -> dict[str, object]:
    return {"folders": list(folders), "media_types": list(parsers), "fingerprints": list(parsers.values())}


def _chunk_row(document_id: int, chunk: Chunk) -> tuple[object, ...]:
    return (
        document_id,
        chunk.ordinal,
        chunk.text_hash,
        chunk.context,
        chunk.content,
        " > ".join(chunk.section),
        chunk.start,
        chunk.end,
        chunk.line_start,
        chunk.line_end,
        chunk.page_start,
        chunk.page_end,
        chunk.tokens,
    )


def _compare(before: Sequence[str], after: Sequence[str]) -> ChunkChanges:
    old, new = Counter(before), Counter(after)
    return ChunkChanges(total=len(after), added=(new - old).total(), removed=(old - new).total())
