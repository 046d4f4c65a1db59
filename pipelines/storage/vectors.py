"""Rows of `embedding` and `refusal`, and the claims that keep two workers off one text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg.rows import class_row

from pipelines.chunking.chunk import embedded_text
from pipelines.embedding.protocol import Embeddings
from pipelines.storage.database import Connection
from pipelines.storage.queries import query


@dataclass(frozen=True, slots=True)
class TextToEmbed:
    """A chunk's text without a vector, and where it stands (one place of perhaps many)."""

    text_hash: str
    context: str
    content: str
    source: str
    section: str

    @property
    def text(self) -> str:
        return embedded_text(self.context, self.content)


def pending_texts(
    connection: Connection, *, folders: Sequence[str], fingerprint: str, limit: int, since: int = -1
) -> list[str]:
    """Hashes of texts in these folders that have no vector under the model; only of revisions after `since`."""
    parameters = {"folders": list(folders), "fingerprint": fingerprint, "limit": limit, "since": since}
    return [str(row[0]) for row in connection.execute(query("pending_texts"), parameters)]


def accept_vectors(connection: Connection) -> None:
    """Let the connection send and receive numpy arrays as vectors, in binary. Asks the server for the type once."""
    from pgvector.psycopg import register_vector  # imports numpy, which a sync with nothing to do can spare

    register_vector(connection)


@contextmanager
def claim(connection: Connection, *, fingerprint: str, hashes: Sequence[str]) -> Iterator[list[TextToEmbed]]:
    """The texts among `hashes` that are ours to embed: nobody else works on them and they still have no vector.

    The claim is a session's advisory locks, one for every two first digits of the hashes; it ends with the block, or
    with the process. The connection must be in autocommit mode: what is stored inside the block must be seen before
    the claim is given back.
    """
    accept_vectors(connection)
    parameters = {"fingerprint": fingerprint, "hashes": list(hashes)}
    parts = {str(row[0]) for row in connection.execute(query("claim_texts"), parameters)}
    mine = [text_hash for text_hash in hashes if text_hash[:2] in parts]
    try:
        with connection.cursor(row_factory=class_row(TextToEmbed)) as cursor:
            yield cursor.execute(query("texts_to_embed"), parameters | {"hashes": mine}).fetchall()
    finally:
        connection.execute(query("release_texts"), parameters | {"parts": sorted(parts)})


def put_embeddings(
    connection: Connection, *, fingerprint: str, texts: Sequence[TextToEmbed], embeddings: Embeddings
) -> None:
    """Store the vectors of texts, and the refusals, in one transaction."""
    refused = dict(embeddings.refused)
    truncated, windowed = set(embeddings.truncated), set(embeddings.windowed)
    rows = [
        (
            fingerprint,
            text.text_hash,
            embeddings.vectors[index],
            int(embeddings.tokens[index]),
            index in truncated,
            index in windowed,
        )
        for index, text in enumerate(texts)
        if index not in refused
    ]
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(query("put_embedding"), rows)
        cursor.executemany(
            query("put_refusal"), [(fingerprint, texts[index].text_hash, reason) for index, reason in refused.items()]
        )


def mark_orphans(connection: Connection) -> None:
    """Note since when vectors are not needed by any chunk, and that they are needed again."""
    connection.execute(query("mark_orphans"))


def purge(connection: Connection, *, keep_seconds: float) -> int:
    """Drop vectors that were marked longer ago than `keep_seconds`; returns how many went.

    The caller's transaction holds the switch lock: a document that is being published must find the vectors that it
    was found ready with.
    """
    connection.execute(query("purge_refusals"))
    return connection.execute(query("purge_embeddings"), {"seconds": keep_seconds}).rowcount
