"""Is the index what a clean build of the same vault gives? The comparison behind the first promise.

What is compared: documents, texts, chunks, the view `knowledge` with its vectors, links, quarantine and generations,
in one canonical order. What is not: numbers and times of processing, and dates that only the file system gave (a
rename keeps them, a clean build asks the file system again). Documents in quarantine keep serving their last good
version, which a clean build cannot know: of them only the quarantine itself is compared.
"""

from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr

from pipelines.settings import Settings
from pipelines.storage import reports
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import live_generations
from pipelines.sync import sync

Rows = list[tuple[object, ...]]
Index = dict[str, Rows]

_HEALTHY = "NOT EXISTS (SELECT FROM quarantine q WHERE q.document_id = d.id)"

_PARTS = {
    "document": """
        SELECT d.source, d.folder, d.disk_path, d.media_type, d.excluded, d.content_hash, d.title, d.locale, d.tags,
               d.properties::text, CASE WHEN d.content_hash IS NOT NULL THEN d.size END, d.modified_from,
               CASE WHEN d.modified_from <> 'mtime' THEN d.modified_at END, d.commit_id, d.chunked_from,
               d.described_from
        FROM document d WHERE HEALTHY ORDER BY d.source""",
    "unhealthy": "SELECT d.source, d.folder FROM document d WHERE NOT HEALTHY ORDER BY d.source",
    "quarantine": """
        SELECT d.source, q.stage, q.reason FROM quarantine q JOIN document d ON d.id = q.document_id ORDER BY 1, 2""",
    "parsed": """
        SELECT p.content_hash, p.fingerprint, p.content, p.body::text FROM parsed p
        WHERE EXISTS (SELECT FROM document d WHERE d.content_hash = p.content_hash AND HEALTHY) ORDER BY 1, 2""",
    "chunk": """
        SELECT d.source, c.ordinal, c.text_hash, c.context, c.content, c.section, c.char_start, c.char_end,
               c.line_start, c.line_end, c.page_start, c.page_end, c.tokens
        FROM chunk c JOIN document d ON d.id = c.document_id WHERE HEALTHY ORDER BY 1, 2""",
    "knowledge": """
        SELECT k.source, k.ordinal, k.folder, k.title, k.section, k.content, k.locale, k.line_start, k.line_end,
               k.page_start, k.page_end, k.tags, k.properties::text, k.embedding::text,
               CASE WHEN d.modified_from <> 'mtime' THEN k.modified_at END
        FROM knowledge k JOIN document d ON d.source = k.source WHERE HEALTHY ORDER BY 1, 2""",
    "homeless": "SELECT k.source FROM knowledge k WHERE NOT EXISTS (SELECT FROM document d WHERE d.source = k.source)",
    "link": """
        SELECT d.source, l.position, l.target, l.anchor, l.kind, l.resolved
        FROM link l JOIN document d ON d.id = l.document_id WHERE HEALTHY ORDER BY 1, 2""",
    "generation": "SELECT model, dimensions, state FROM generation ORDER BY id",
}


def dump(connection: Connection) -> Index:
    """The index in canonical order, by part."""
    statements = {name: statement.replace("HEALTHY", _HEALTHY) for name, statement in _PARTS.items()}
    return {name: connection.execute(statement.encode()).fetchall() for name, statement in statements.items()}


def assert_same(index: Index, clean: Index) -> None:
    """Fail with the first rows that differ."""
    for name in _PARTS:
        ours, theirs = index[name], clean[name]
        if ours != theirs:
            extra = [row for row in ours if row not in theirs][:3]
            lacking = [row for row in theirs if row not in ours][:3]
            raise AssertionError(f"{name}: the index has\n  {extra}\nwhere a clean build has\n  {lacking}")


def assert_consistent(connection: Connection) -> None:
    """What must hold of an index by itself: rows, vectors, dates and term statistics agree, nothing is left over."""
    for generation in live_generations(connection):
        found = reports.check_generation(connection, generation)
        wrong = {name: count for name, count in found.items() if count and name != "vectors_refused"}
        assert not wrong, f"generation {generation.id}: {wrong}"
        kept = connection.execute(_STATISTICS_KEPT, {"generation": generation.id}).fetchall()
        counted = connection.execute(_STATISTICS_COUNTED.replace("{table}", generation.table).encode()).fetchall()
        assert kept == counted, "the term statistics are not those of the rows"
    stale = connection.execute(
        "SELECT k.source FROM knowledge k JOIN document d ON d.source = k.source "
        "WHERE (k.modified_at <> d.modified_at OR k.folder <> d.folder OR k.title <> d.title) "
        "AND NOT EXISTS (SELECT FROM quarantine q WHERE q.document_id = d.id)"
    ).fetchall()
    assert not stale, f"rows that do not say what their documents say: {stale}"
    left = connection.execute(
        "SELECT content_hash FROM parsed p WHERE "
        "NOT EXISTS (SELECT FROM document d WHERE d.content_hash = p.content_hash) AND "
        "NOT EXISTS (SELECT FROM tombstone t WHERE t.content_hash = p.content_hash)"
    ).fetchall()
    assert not left, f"texts that nothing needs any more: {left}"


_STATISTICS_KEPT = """
    SELECT language, term, sum(chunks)::bigint FROM term_statistic WHERE generation_id = %(generation)s
    GROUP BY 1, 2 HAVING sum(chunks) <> 0 ORDER BY 1, 2"""
_STATISTICS_COUNTED = """
    SELECT search_language(k.locale) COLLATE "C", lexeme COLLATE "C", count(*)
    FROM {table} k, unnest(tsvector_to_array(k.search)) AS lexeme GROUP BY 1, 2 ORDER BY 1, 2"""


def assert_same_as_clean_build(settings: Settings, *, new_database: Callable[[], Database], home: Path) -> None:
    """Build the vault of `settings` into another, empty database and compare row by row.

    `home` is an empty VAULTLINE_HOME for that build. Also: the index is consistent, and a sync finds nothing to do.
    """
    other = settings.model_copy(
        update={
            "database_url": SecretStr(new_database().url),
            "vaultline_home": home,
            "embedding_fake_log": None,
        }
    )
    sync(other)
    with Database.from_settings(other).connect() as connection:
        clean = dump(connection)
    with Database.from_settings(settings).connect() as connection:
        index = dump(connection)
        assert_consistent(connection)
    assert_same(index, clean)
    todo = sync(settings, dry_run=True)
    assert not todo.folders, f"work is left in {todo.folders}"
