"""What the assistant works with, and what it keeps of one turn."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID

from pipelines.assistant import events
from pipelines.assistant.events import Emit, Event
from pipelines.assistant.shelf import Citable, Shelf
from pipelines.assistant.usage import Usage
from pipelines.retrieval.passage import Passage, SearchResult
from pipelines.settings import Settings
from pipelines.storage.chats import PastTurn, TurnState
from pipelines.storage.database import Connection
from pipelines.storage.reading import KeyPassage, ListedDocument, StoredText

T = TypeVar("T")


class Library(Protocol):
    """The index, as blocking calls; `serving.knowledge.Knowledge` is one."""

    @property
    def settings(self) -> Settings: ...

    def search(
        self,
        query: str,
        *,
        k: int,
        locale: str | None = None,
        source: str | None = None,
        sources: Sequence[str] | None = None,
        alone: bool = False,
        remember: bool = True,
    ) -> SearchResult: ...

    def readable(self, *, folder: str | None = None, after: str | None = None, limit: int) -> list[ListedDocument]: ...

    def text(self, source: str, *, offset: int = 0, limit: int) -> StoredText | None: ...

    def key_passages(self, source: str, *, limit: int) -> list[KeyPassage]: ...

    def transact(self, work: Callable[[Connection], T]) -> T: ...

    def remember(self, result: SearchResult) -> None: ...


class Run(Protocol):
    """Runs blocking work somewhere else than in the event loop."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A message to answer. `documents`: the only sources that may be used; `page`: the one that the person reads."""

    session: UUID
    turn: UUID
    message: str
    locale: str | None = None
    page: str | None = None
    documents: Sequence[str] | None = None
    history: Sequence[PastTurn] = ()

    @property
    def previous(self) -> str | None:
        """What was looked up for the question before this one."""
        return next((past.query for past in reversed(self.history) if past.query), None)


@dataclass
class Turn:
    """A turn under way: what was found, said and spent so far."""

    asked: Asked
    library: Library
    run: Run
    emit: Emit
    language: str
    shelf: Shelf = field(default_factory=Shelf)
    query: str = ""
    rewritten: bool = False
    style: str = "prose"
    said: str = ""
    answered: bool = False
    removed: int = 0
    usage: Usage = field(default_factory=Usage)
    messages: list[Any] | None = None
    unanswered: SearchResult | None = None
    lead: bool = False
    calls: int = 0
    referred: set[int] = field(default_factory=set)

    @property
    def settings(self) -> Settings:
        return self.library.settings

    def say(self, text: str) -> None:
        """Show more of the answer."""
        if text:
            self.said += text
            self.emit(events.text(text))

    def refer(self, citables: Sequence[Citable]) -> None:
        """Show where the answer may come from."""
        if citables:
            self.emit(Event("sources", {"sources": [citable.to_json() for citable in citables]}))

    async def search(
        self, query: str, *, source: str | None = None, k: int, tool: str
    ) -> tuple[SearchResult, list[Citable]]:
        """Look something up and put it on the shelf. Only the sources of the session are searched."""
        self.emit(events.tool_start(tool, query, rewritten=query != " ".join(self.asked.message.split())))
        result = await self.run(
            lambda: self.library.search(
                query,
                k=k,
                locale=self.asked.locale,
                source=source,
                sources=self.asked.documents,
                alone=True,
                remember=False,
            )
        )
        return result, self.put(result.results)

    def put(self, passages: Sequence[Passage]) -> list[Citable]:
        """Put passages on the shelf and show those that are new on it."""
        before = len(self.shelf)
        found = self.shelf.add(passages)
        self.refer([citable for citable in found if citable.n > before])
        return found

    def state(self, *, problem: str | None = None) -> TurnState:
        """What is stored of the turn."""
        return TurnState(
            answer=self.said,
            query=self.query,
            rewritten=self.rewritten,
            locale=self.language,
            style=self.style,
            sources=self.shelf.references(),
            answered=self.answered,
            removed=self.removed,
            problem=problem,
            messages=self.messages,
            model=self.usage.model,
            input_tokens=self.usage.input_tokens,
            output_tokens=self.usage.output_tokens,
            cached_tokens=self.usage.cached_tokens,
            cost_usd=self.usage.cost,
        )
