"""B26: two writers at once, a server that ends connections, and documents that change while they are published."""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.errors import DatabaseError
from pipelines.generations.writing import publish
from pipelines.storage import generations
from pipelines.storage.database import Database
from pipelines.storage.generations import Generation
from tests.integration.sync.living_vault import LivingVault, long_note, note

Converged = Callable[[LivingVault], None]


def _generation(database: Database) -> Generation:
    with database.connect() as connection:
        [generation] = generations.live_generations(connection)
        return generation


@pytest.fixture
def fifty(vault: LivingVault) -> LivingVault:
    """Fifty notes, indexed."""
    for number in range(50):
        vault.write(f"f{number % 3}/n{number}.md", note(f"Note {number}", f"Text of note {number}."))
    vault.sync()
    return vault


def test_two_writers_of_the_same_documents_in_opposite_order(fifty: LivingVault, converged: Converged) -> None:
    generation = _generation(fifty.database)
    ids = [row[0] for row in fifty.rows("SELECT id FROM document ORDER BY id")]

    def write(order: list[int]) -> int:
        done = 0
        for _ in range(15):
            fifty.execute("UPDATE document SET revision = nextval('document_revision') WHERE id = %s", order[0])
            done += publish(fifty.database, generation, order)[0]
        return done

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, [ids, ids[::-1]])) == [750, 750]
    fifty.sync()
    converged(fifty)


def test_a_document_that_changes_while_it_waits_to_be_published_is_not_published_half(fifty: LivingVault) -> None:
    """Its old chunks have vectors and its new ones do not yet: who waited for the row must look again."""
    generation = _generation(fifty.database)
    [(identity, before)] = fifty.rows("SELECT id, text_hash FROM document JOIN chunk ON document_id = id LIMIT 1")
    fifty.execute("UPDATE document SET revision = nextval('document_revision') WHERE id = %s", identity)
    outcome: list[tuple[int, int, int]] = []
    with fifty.database.connect() as editor:
        editor.execute("SELECT FROM document WHERE id = %s FOR UPDATE", (identity,))
        editor.execute("UPDATE chunk SET text_hash = 'new', content = 'new' WHERE document_id = %s", (identity,))
        editor.execute("UPDATE document SET revision = nextval('document_revision') WHERE id = %s", (identity,))
        publisher = threading.Thread(target=lambda: outcome.append(publish(fifty.database, generation, [identity])))
        publisher.start()
        _wait_until_blocked(fifty)
    publisher.join()
    assert outcome == [(0, 0, 0)]
    assert fifty.rows("SELECT text_hash FROM knowledge_g1 WHERE document_id = %s", identity) == [(before,)]
    assert fifty.value("SELECT count(*) FROM knowledge WHERE embedding IS NULL") == 0


def _wait_until_blocked(vault: LivingVault) -> None:
    for _ in range(600):
        if vault.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            return
        time.sleep(0.05)
    raise AssertionError("nobody waits for the lock")


def test_work_on_an_older_content_is_dropped(vault: LivingVault) -> None:
    """Compare and swap: a slow run must not write the chunks of a version that is no longer the current one."""
    from pipelines.storage import texts
    from pipelines.storage.texts import Description, PendingChunks

    vault.write("n.md", note("N", "First."))
    vault.sync()
    [(identity, old)] = vault.rows("SELECT id, content_hash FROM document")
    vault.write("n.md", note("N", "Second."))
    vault.sync()
    slow = PendingChunks(identity, "n.md", "_root", old, "parser", None, None, "mtime")
    said = Description("Old", "en", (), {}, (), None, None)
    with vault.database.connect() as connection:
        done = texts.replace_document(connection, slow, said, chunks=(), chunked_from="x", described_from="x")
    assert done is None
    assert vault.texts("n.md") == ["# N\n\nSecond."]


def test_connections_that_the_server_ends_in_the_middle_of_a_sync(vault: LivingVault, converged: Converged) -> None:
    for number in range(30):
        vault.write(f"n{number}.md", long_note(f"Note {number}", 3, seed=f"s{number}"))
    stop = threading.Event()

    def terminate() -> None:
        with vault.database.connect(autocommit=True) as connection:
            while not stop.wait(0.25):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    killer = threading.Thread(target=terminate)
    killer.start()
    try:
        for _ in range(3):
            with contextlib.suppress(DatabaseError):
                vault.sync()
    finally:
        stop.set()
        killer.join()
    vault.sync()
    converged(vault)
