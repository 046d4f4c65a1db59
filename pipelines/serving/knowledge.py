"""What HTTP and MCP both ask of the index: one searcher and one database for the life of a server."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from pipelines.errors import DatabaseUnavailable, VaultlineError
from pipelines.retrieval import unanswered
from pipelines.retrieval.passage import SearchResult
from pipelines.retrieval.searcher import Searcher
from pipelines.serving.problems import Problem, Refused
from pipelines.settings import Settings
from pipelines.storage import reading
from pipelines.storage import unanswered as questions
from pipelines.storage.database import Connection, Database
from pipelines.storage.migrations import migrate
from pipelines.storage.reading import KeyPassage, ListedDocument, StoredText
from pipelines.vault.folders import folder_key

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Open:
    database: Database
    searcher: Searcher


class Knowledge:
    """Safe to use from many threads. The database is opened at the first question, and again after it was away.

    After a connection failed, the next question first tries whether the database is back: while it is not, that
    costs milliseconds and not the pool's patience, and when it is, the pool's stale connections go.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = Lock()
        self._open: _Open | None = None
        self._suspect = False

    def search(
        self,
        query: str,
        *,
        k: int,
        locale: str | None = None,
        folder: str | None = None,
        tags: Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        source: str | None = None,
        sources: Sequence[str] | None = None,
        mode: str = "hybrid",
        alone: bool = False,
        remember: bool = True,
    ) -> SearchResult:
        """The searcher's answer. With `remember`, a question about the whole index without an answer is counted."""
        result = self._ask(
            lambda opened: opened.searcher.search(
                query,
                k=k,
                locale=locale,
                folder=folder,
                tags=tags,
                since=since,
                until=until,
                source=source,
                sources=sources,
                mode=mode,
                alone=alone,
            )
        )
        if remember and source is None and sources is None and not result.answered:
            self.remember(result)
        return result

    def documents(
        self, *, folder: str | None = None, state: str | None = None, after: str | None = None, limit: int
    ) -> list[ListedDocument]:
        """Documents by source, in any state or in one, after the source `after`."""
        folders, prefix = _place(folder)
        return self._read(
            lambda connection: reading.list_documents(
                connection, folders=folders, prefix=prefix, state=state, after=after, limit=limit
            )
        )

    def readable(self, *, folder: str | None = None, after: str | None = None, limit: int) -> list[ListedDocument]:
        """Documents that search can find."""
        folders, prefix = _place(folder)
        return self._read(
            lambda connection: reading.list_readable(
                connection, folders=folders, prefix=prefix, after=after, limit=limit
            )
        )

    def text(self, source: str, *, offset: int = 0, limit: int) -> StoredText | None:
        """The indexed text of a document. The name is looked up in a table: no path is ever opened."""
        return self._read(lambda connection: reading.read_text(connection, source, offset=offset, limit=limit))

    def key_passages(self, source: str, *, limit: int) -> list[KeyPassage]:
        """The passages that stand for a document."""
        return self._read(lambda connection: reading.key_passages(connection, source, limit=limit))

    def unanswered(self, *, offset: int, limit: int) -> list[dict[str, object]]:
        """Questions without an answer, the most frequent first."""
        return self._read(lambda connection: reading.list_unanswered(connection, offset=offset, limit=limit))

    def draft(self, question: str) -> str:
        """Write a FAQ draft for an unanswered question, by its id; its path relative to the vault.

        Raises Refused, VaultUnavailable.
        """
        vault = self.settings.vault_path
        if vault is None:
            raise Refused(Problem(409, "draft_refused", "this server has no vault of its own to write drafts into"))

        def work(connection: Connection) -> str:
            item = questions.find(connection, question)
            if item is None:
                raise Refused(Problem(404, "not_found", "there is no such unanswered question"))
            if item.exported_at is not None:
                said = f"a draft was written on {item.exported_at.date().isoformat()}"
                raise Refused(Problem(409, "draft_refused", said))
            path = unanswered.export_draft(connection, vault, item)
            if path is None:
                raise Refused(Problem(409, "draft_refused", "there are 99 drafts of that name: sort them first"))
            return path.relative_to(vault).as_posix()

        return self.transact(work)

    def index(self) -> dict[str, object] | None:
        """The state of the active generation, or None; see `reading.index_state`."""
        return self._read(reading.index_state)

    def try_embedder(self) -> None:
        """Embed a question. Raises EmbeddingError, NoActiveGeneration, DatabaseError."""
        self._ask(lambda opened: opened.searcher.search("health", k=1, mode="vector"))

    def close(self) -> None:
        """Give back the model and the connections."""
        with self._lock:
            if self._open is not None:
                self._open.searcher.close()
                self._open = None

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Read and write in one transaction. Run again if its connection was lost: `work` must stand a second time."""
        return self._read(work)

    def remember(self, result: SearchResult) -> None:
        """Count an unanswered question, as RECORD_UNANSWERED allows; one that cannot be counted is only logged."""
        try:
            with self._lock:
                opened = self._open
            if opened is not None:
                unanswered.record(opened.database, result, self.settings)
        except VaultlineError as error:  # a read-only server can search
            _log.warning("an unanswered question could not be recorded: %s", error)

    def _read(self, work: Callable[[Connection], T]) -> T:
        def run(opened: _Open) -> T:
            with opened.database.reader() as connection:
                return work(connection)

        return self._ask(run)

    def _ask(self, work: Callable[[_Open], T]) -> T:
        """Run a read, once more if its connection was lost and the database is there."""
        opened = self._ready()
        try:
            return work(opened)
        except DatabaseUnavailable:
            self._suspect = True
        return work(self._ready())

    def _ready(self) -> _Open:
        with self._lock:
            if self._open is None:
                database = Database.from_settings(self.settings)
                migrate(database)
                self._open = _Open(database, Searcher(database, self.settings))
            elif self._suspect:
                with self._open.database.connect():
                    pass
                self._open.database.close()
            self._suspect = False
            return self._open


def _place(folder: str | None) -> tuple[tuple[str, ...] | None, str | None]:
    """(partition keys, prefix of sources) of a folder that was named, or given as its key."""
    if folder is None:
        return None, None
    name = folder.strip("/")
    return (name, folder_key(name)), f"{name}/"
