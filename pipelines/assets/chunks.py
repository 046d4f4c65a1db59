"""chunks: text -> passages with their places, and what is said of each document."""

from datetime import UTC, datetime
from pathlib import PurePosixPath

import dagster as dg

from pipelines.assets.parsed_text import parsed_text
from pipelines.assets.stage import BATCH, GROUP, OWNERS, one_document, stage
from pipelines.chunking.chunker import chunk
from pipelines.errors import DocumentError
from pipelines.figures import Work
from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.locale import locale_for
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.recipe import tokenizer
from pipelines.resources.store import Store
from pipelines.storage import documents, generations, texts
from pipelines.storage.database import Connection, make_commits_cheap
from pipelines.storage.texts import Description, PendingChunks


@dg.asset(
    deps=[parsed_text],
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"python"},
    code_version="1",
    description="Passages of every document with section, lines and pages; title, locale, tags, properties and links.",
    group_name=GROUP,
    owners=OWNERS,
)
def chunks(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> None:
    figures = ("documents", "chunks", "added", "removed", "excluded", "empty", "failed")
    with stage(context, store, "chunks", figures=figures) as work, store.database.connect(autocommit=True) as conn:
        make_commits_cheap(conn)
        recipe = store.recipe
        while pending := texts.pending_chunks(
            conn,
            folders=work.folders,
            parsers=recipe.parsers,
            chunker=recipe.chunker,
            describer=recipe.describer,
            limit=BATCH,
        ):
            for item in pending:
                with conn.transaction():
                    _replace(store, conn, item, work)


def _replace(store: Store, connection: Connection, item: PendingChunks, work: Work) -> None:
    recipe = store.recipe
    document = texts.get_parsed(connection, content_hash=item.content_hash, fingerprint=item.fingerprint)
    if document is None:
        return  # purged since we looked: it is parsed again
    text_key = f"{item.content_hash}/{item.fingerprint}"
    chunked_from = f"{text_key}/{recipe.chunker}"
    made = None
    if item.chunked_from != chunked_from:
        try:
            with one_document("chunker"):
                made = chunk(document, options=recipe.chunking, count_tokens=tokenizer().count)
        except DocumentError as error:
            documents.quarantine(connection, item.id, stage="chunks", key=chunked_from, reason=str(error))
            work.count(item.folder, failed=1)
            work.tell(item.folder, item.source, passages=0, added=0, removed=0, problem=str(error))
            return
    changes = texts.replace_document(
        connection,
        item,
        _describe(document, item.source, default_locale=recipe.default_locale),
        chunks=made,
        chunked_from=chunked_from,
        described_from=f"{text_key}/{recipe.describer}/{item.source}",
    )
    if changes is None:
        return
    documents.release(connection, item.id, "chunks")
    if document.excluded_reason is not None:
        generations.unpublish(connection, item.id)
    work.tell(item.folder, item.source, passages=changes.total, added=changes.added, removed=changes.removed)
    work.count(
        item.folder,
        documents=1,
        chunks=changes.total,
        added=changes.added,
        removed=changes.removed,
        excluded=document.excluded_reason is not None,
        empty=made is not None and not made and bool(document.text.strip()),
    )


def _describe(document: ParsedDocument, source: str, *, default_locale: str) -> Description:
    return Description(
        title=document.title or PurePosixPath(source).stem,
        locale=locale_for(source, document, default=default_locale),
        tags=document.tags,
        properties=document.properties,
        links=document.links,
        declared_date=_date(document.declared_date),
        excluded=document.excluded_reason,
    )


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    date = datetime.fromisoformat(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
