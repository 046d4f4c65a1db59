"""What keeps the store tidy after a run: links, orphaned texts and vectors."""

from pipelines.figures import Work
from pipelines.parsing.links import resolve_links
from pipelines.resources.store import Store
from pipelines.storage import documents, generations, texts, vectors
from pipelines.vault.folders import is_upload

_DAY = 86_400.0


def upkeep(store: Store) -> None:
    """What a run does at its end, where one was killed or failed before it came to that. Cheap when nothing is due."""
    with store.database.connect() as connection:
        links_due = texts.link_state(connection) != documents.get_fact(connection, "links_resolved")
        texts_due = texts.purge_due(
            connection, parsers=store.recipe.parsers, tombstone_seconds=store.settings.tombstone_days * _DAY
        )
    if links_due:
        resolve_changed_links(store, Work(()))
    if texts_due:
        tidy(store, Work(()))


def resolve_changed_links(store: Store, work: Work) -> None:
    """Find again where links lead, if any document came, went or changed since they were last resolved."""
    with store.database.connect() as connection:
        state = texts.link_state(connection)
        if state == documents.get_fact(connection, "links_resolved"):
            return
        everything = frozenset(documents.known_documents(connection))
        vault = frozenset(source for source in everything if not is_upload(source))
        by_source: dict[str, list[texts.StoredLink]] = {}
        for link in texts.all_links(connection):
            by_source.setdefault(link.source, []).append(link)
        changed = []
        for source, stored in by_source.items():
            known = everything if is_upload(source) else vault  # an upload must not take a note's links over
            leads = resolve_links(source, [link.link for link in stored], known)
            for link, (_, target) in zip(stored, leads, strict=True):
                if target != link.resolved:
                    changed.append((link.document_id, link.position, target))
        texts.resolve_links(connection, changed)
        documents.put_fact(connection, "links_resolved", state)
        work.count(None, links=len(changed))


def tidy(store: Store, work: Work) -> None:
    """Drop texts and vectors that nothing needs any more."""
    settings = store.settings
    with store.database.connect() as connection:
        gone = texts.purge(connection, parsers=store.recipe.parsers, tombstone_seconds=settings.tombstone_days * _DAY)
        work.count(None, purged=gone)
        vectors.mark_orphans(connection)
    with store.database.connect() as connection:  # the lock is held for the deletion only: writers wait for it
        generations.take_switch_lock(connection)
        vectors.purge(connection, keep_seconds=settings.embedding_cache_days * _DAY)
