"""Where `![[embedded notes]]` are put in place: find the note that a target names, and read it."""

from collections.abc import Callable
from functools import cache

from pipelines.errors import DocumentError
from pipelines.parsing.document import Link
from pipelines.parsing.encoding import decode
from pipelines.parsing.links import resolve_links
from pipelines.resources.store import Store
from pipelines.storage import texts
from pipelines.vault.content import read_stable


def embed_resolver(store: Store) -> Callable[[str], str | None] | None:
    """A function from a link's target to the source text of the note that it names, or None if embeds stay links."""
    if not store.recipe.parsing.resolve_embeds:
        return None
    with store.database.connect() as connection:
        notes = texts.notes(connection)
    known = frozenset(notes)

    @cache
    def resolve(target: str) -> str | None:
        # From the top of the vault: the text of a content must not depend on which of its copies is read.
        ((_, source),) = resolve_links("", [Link(target, kind="embed")], known)
        if source is None:
            return None
        try:
            path, follow_links = store.place(notes[source])
            data, _, _ = read_stable(path, follow_links=follow_links)
            return decode(data).text
        except (OSError, DocumentError):
            return None  # it stays a link, and its note's own quarantine says why

    return resolve
