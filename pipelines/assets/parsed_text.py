"""parsed_text: bytes -> readable text and structure, once a content."""

from collections.abc import Callable

import dagster as dg

from pipelines.assets.embeds import embed_resolver
from pipelines.assets.raw_files import raw_files
from pipelines.assets.stage import BATCH, GROUP, OWNERS, one_document, stage
from pipelines.errors import DocumentError
from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse
from pipelines.partitions import FOLDERS, ONE_RUN
from pipelines.resources.store import Store
from pipelines.storage import documents, texts
from pipelines.storage.database import make_commits_cheap
from pipelines.storage.texts import PendingParse
from pipelines.vault.content import hash_bytes, is_lfs_pointer, read_stable
from pipelines.vault.folders import folder_of


@dg.asset(
    deps=[raw_files],
    partitions_def=FOLDERS,
    backfill_policy=ONE_RUN,
    kinds={"python"},
    code_version="1",
    description="Text, structure and pages of every content, with what must stay out already taken out.",
    group_name=GROUP,
    owners=OWNERS,
)
def parsed_text(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> None:
    figures = ("parsed", "failed", "ocr_pages")
    with stage(context, store, "parsed_text", figures=figures) as work, store.database.connect(autocommit=True) as conn:
        unread: set[int] = set()
        make_commits_cheap(conn)  # one a document: a killed run must not lose an hour of OCR
        recipe, resolve_embed = store.recipe, embed_resolver(store)
        while pending := [
            item
            for item in texts.pending_parses(conn, folders=work.folders, parsers=recipe.parsers, limit=BATCH)
            if item.id not in unread
        ]:
            for item in pending:
                try:
                    document = _parse(_read(store, item), item, recipe.parsing, resolve_embed)
                except _Unread as error:
                    unread.add(item.id)
                    # Not this content's fault: the key is no content, so that the next run tries again.
                    documents.quarantine(conn, item.id, stage="parsed_text", key="", reason=str(error))
                    documents.distrust(conn, item.id)
                except DocumentError as error:
                    context.log.warning(f"{item.source}: {error}")
                    documents.quarantine(conn, item.id, stage="parsed_text", key=item.key, reason=str(error))
                    work.count(_folder(store, item), failed=1)
                    work.tell(_folder(store, item), item.source, problem=str(error))
                else:
                    with conn.transaction():
                        texts.put_parsed(
                            conn, content_hash=item.content_hash, fingerprint=item.fingerprint, document=document
                        )
                        documents.release_content(conn, item.content_hash, "parsed_text")
                    ocr_pages = sum(page.origin in ("ocr", "mixed") for page in document.pages)
                    work.count(_folder(store, item), parsed=1, ocr_pages=ocr_pages)
                    work.tell(_folder(store, item), item.source, problem="", pages=len(document.pages))


class _Unread(DocumentError):
    """The file is not now what the scan saw."""


def _parse(
    data: bytes, item: PendingParse, options: ParseOptions, resolve_embed: Callable[[str], str | None] | None
) -> ParsedDocument:
    if is_lfs_pointer(data):
        raise DocumentError("a Git LFS pointer, not the content: run `git lfs pull` in the vault")
    with one_document("parser"):
        return parse(data, media_type=item.media_type, options=options, resolve_embed=resolve_embed)


def _read(store: Store, item: PendingParse) -> bytes:
    path, follow_links = store.place(item.disk_path)
    try:
        data, _, _ = read_stable(path, follow_links=follow_links)
    except FileNotFoundError:
        raise _Unread("gone since it was found; the next sync looks again") from None
    except DocumentError as error:
        raise _Unread(str(error)) from error
    if hash_bytes(data) != item.content_hash:
        raise _Unread("changed since it was found; the next sync reads it again")
    return data


def _folder(store: Store, item: PendingParse) -> str:
    return folder_of(item.source, depth=store.settings.partition_depth, buckets=store.settings.partition_buckets)
