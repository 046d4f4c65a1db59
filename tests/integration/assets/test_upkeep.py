"""What a run tidies up at its end, beside runs that are still at work."""

import threading
import time
from pathlib import Path

from pipelines.assets.upkeep import tidy
from pipelines.figures import Work
from pipelines.resources.store import Store
from pipelines.settings import Settings
from pipelines.storage import generations, vectors
from pipelines.storage.database import Database
from pipelines.sync import sync


def _count(database: Database, statement: str) -> int:
    with database.connect() as connection:
        row = connection.execute(statement.encode()).fetchone()
        assert row is not None
        return int(str(row[0]))


_VECTORS = "SELECT count(*) FROM embedding"
_WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = 'ExclusiveLock'"


def _indexed(settings: Settings) -> Path:
    vault = settings.vault_path
    assert vault is not None
    (vault / "a.md").write_text("# A\n\nThe quokka.\n")
    (vault / "b.md").write_text("# B\n\nThe numbat.\n")
    sync(settings)
    return vault


def test_vectors_stay_while_a_document_is_being_published(settings: Settings, database: Database) -> None:
    """With EMBEDDING_CACHE_DAYS=0 a vector goes as soon as no chunk needs it, but not under a publisher's hands."""
    settings = settings.model_copy(update={"embedding_cache_days": 0.0})
    _indexed(settings)
    with database.connect(autocommit=True) as connection:
        connection.execute("DELETE FROM chunk WHERE content LIKE '%numbat%'")
    before = _count(database, _VECTORS)
    tidying = threading.Thread(target=tidy, args=(Store(settings), Work(())))
    with database.connect() as publisher:
        generations.share_switch_lock(publisher)
        tidying.start()
        deadline = time.monotonic() + 60
        while not _count(database, _WAITING):
            assert tidying.is_alive(), "it did not wait"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert _count(database, _VECTORS) == before
    tidying.join(timeout=60)
    assert _count(database, _VECTORS) == before - 1


def test_a_text_that_came_back_keeps_its_vector(settings: Settings, database: Database) -> None:
    _indexed(settings)
    with database.connect() as connection:
        connection.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM chunk")
        connection.execute("DELETE FROM chunk")
        vectors.mark_orphans(connection)
        connection.execute("INSERT INTO chunk SELECT * FROM kept WHERE content LIKE '%quokka%'")
        assert vectors.purge(connection, keep_seconds=0) == 1
        vectors.mark_orphans(connection)
        assert connection.execute("SELECT count(*) FROM embedding WHERE orphaned_at IS NOT NULL").fetchone() == (0,)


def test_an_upload_cannot_take_over_the_links_or_embeds_of_a_note(settings: Settings, database: Database) -> None:
    uploads = settings.vaultline_home.parent / "uploads"
    settings = settings.model_copy(update={"uploads_path": uploads, "parse_resolve_embeds": True})
    vault = settings.vault_path
    assert vault is not None
    uploads.mkdir()
    (uploads / "guest.md").write_text("# Guest\n\nForged words. [[host]]\n")
    (vault / "sub").mkdir()
    (vault / "host.md").write_text("# Host\n\n![[guest]] and [[guest]]\n\nIts own words.\n")
    sync(settings)

    def links() -> dict[str, object]:
        with database.connect() as connection:
            rows = connection.execute(
                "SELECT d.source, l.resolved FROM link l JOIN document d ON d.id = l.document_id"
            ).fetchall()
            return {str(source): target for source, target in rows}

    assert links() == {"host.md": None, ".uploads/guest.md": "host.md"}
    assert _count(database, "SELECT count(*) FROM knowledge WHERE source = 'host.md' AND content ~ 'Forged'") == 0
    (vault / "sub" / "guest.md").write_text("True words.\n")
    sync(settings)
    assert links()["host.md"] == "sub/guest.md"
    assert _count(database, "SELECT count(*) FROM knowledge WHERE source = 'host.md' AND content ~ 'True'") == 1
