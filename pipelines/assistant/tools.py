"""What the model can call: arguments, checked again here, and what each tool answers.

Nothing here writes to the vault, opens a path, or reads another session. All searches keep to the session's documents.
"""

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pipelines.assistant import events
from pipelines.assistant.desk import Turn
from pipelines.assistant.prompt import passage_record
from pipelines.assistant.shelf import Citable
from pipelines.errors import InvalidQuery, VaultlineError
from pipelines.retrieval.fence import fence
from pipelines.retrieval.passage import Passage
from pipelines.storage import chats, memories
from pipelines.storage.reading import StoredText

KEY_PASSAGES = 6
LISTED = 40


class ToolRefused(VaultlineError):
    """A call that cannot be done as asked, for a reason that the model may know."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


_Query = Annotated[str, Field(min_length=1, max_length=400, description="A question or words.")]
_Source = Annotated[str, Field(min_length=1, max_length=1_000, description='A document, as "source" names it.')]
_Limit = Annotated[int, Field(ge=1, le=10, description="Passages at most.")]


class SearchKnowledgeBase(_Arguments):
    """Arguments of `search_knowledge_base`."""

    query: _Query
    limit: _Limit = 6


class SearchInDocument(_Arguments):
    """Arguments of `search_in_document`."""

    source: _Source
    query: _Query
    limit: _Limit = 5


class ListAvailableDocuments(_Arguments):
    """Arguments of `list_available_documents`."""

    folder: Annotated[str | None, Field(max_length=1_000, description="Only documents of this folder.")] = None
    after: Annotated[str | None, Field(max_length=1_000, description="The last source of the page before.")] = None


class SummarizeDocument(_Arguments):
    """Arguments of `summarize_document`."""

    source: _Source


class CreateLead(_Arguments):
    """Arguments of `create_lead`."""

    name: Annotated[str, Field(min_length=2, max_length=200, description="As the person wrote it.")]
    contact: Annotated[str, Field(min_length=5, max_length=200, description="Address or number, as they wrote it.")]
    interest: Annotated[str, Field(max_length=500, description="What they want.")]
    summary: Annotated[str, Field(max_length=1_000, description="The conversation in one or two sentences.")]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the model: `run` answers with text. Raises ToolRefused, and what the index raises."""

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Turn, Any], Awaitable[str]]


async def search(turn: Turn, asked: SearchKnowledgeBase) -> str:
    """Look up other words in all documents of the session."""
    result, found = await turn.search(_clean(asked.query), k=asked.limit, tool="search_knowledge_base")
    return _passages(found, answered=result.answered)


async def search_in_document(turn: Turn, asked: SearchInDocument) -> str:
    """Look something up in one document."""
    text = await _document(turn, asked.source)
    result, found = await turn.search(_clean(asked.query), source=text.source, k=asked.limit, tool="search_in_document")
    return _passages(found, answered=result.answered)


async def list_documents(turn: Turn, asked: ListAvailableDocuments) -> str:
    """Name the documents that can be searched."""
    turn.emit(events.tool_start("list_available_documents", asked.folder or "", rewritten=False))
    folder = _clean(asked.folder) if asked.folder and asked.folder.strip(" /") else None
    after = None if asked.after is None else _clean(asked.after)
    allowed = turn.asked.documents
    limit = LISTED + 1 if allowed is None else 10_000
    rows = await turn.run(lambda: turn.library.readable(folder=folder, after=after, limit=limit))
    if allowed is not None:
        rows = [row for row in rows if row.source in allowed]
    listed = [
        citable for row in rows[:LISTED] if (citable := turn.shelf.add_document(row.source, row.title, row.locale))
    ]
    if not listed:
        return "0 documents."
    more = " There are more: call again with `after` set to the last source." if len(rows) > LISTED else ""
    return f"{len(listed)} documents.{more}\n{fence([passage_record(item) for item in listed])}"


async def summarize(turn: Turn, asked: SummarizeDocument) -> str:
    """Give the passages that say most of what a document says."""
    turn.emit(events.tool_start("summarize_document", asked.source, rewritten=False))
    text = await _document(turn, asked.source)
    key = await turn.run(lambda: turn.library.key_passages(text.source, limit=KEY_PASSAGES))
    found = turn.put(
        [
            Passage(
                source=text.source,
                ordinal=passage.ordinal,
                section=passage.section,
                lines=(passage.line_start, passage.line_end),
                pages=_pages(passage.page_start, passage.page_end),
                content=passage.content,
                score=1.0,
                similarity=None,
                locale=text.locale,
                modified_at=text.modified_at,
                title=text.title,
                folder=text.folder,
            )
            for passage in key
        ]
    )
    return _passages(found, answered=bool(found))


async def create_lead(turn: Turn, asked: CreateLead) -> str:
    """Keep who wants to be called back, if it is what the person wrote and no note made it up."""
    turn.emit(events.tool_start("create_lead", "", rewritten=False))
    session, mine = turn.asked.session, turn.asked.turn
    said = await turn.run(lambda: turn.library.transact(lambda connection: chats.said_by_user(connection, session)))
    written = _folded(" ".join((turn.asked.message, *said)))
    for value in (asked.contact, asked.name):
        if _folded(value) not in written:
            raise ToolRefused("only a name and a contact that the person has written in this conversation can be kept")
    lead = {name: _clean(value, most=1_000) for name, value in asked.model_dump().items()}
    await turn.run(
        lambda: turn.library.transact(
            lambda connection: memories.put_lead(connection, session=session, turn=mine, **lead)
        )
    )
    turn.lead = True
    return "Kept. Tell the person that the team will come back to them."


TOOLS = (
    Tool("search_knowledge_base", "Find passages that answer, in all documents.", SearchKnowledgeBase, search),
    Tool("search_in_document", "Find passages of one document.", SearchInDocument, search_in_document),
    Tool("list_available_documents", "List the documents, by name.", ListAvailableDocuments, list_documents),
    Tool("summarize_document", "Get a document's key passages.", SummarizeDocument, summarize),
)
LEAD_TOOL = Tool(
    "create_lead", "Keep who wants to be called back. Only what the person wrote.", CreateLead, create_lead
)


async def _document(turn: Turn, source: str) -> StoredText:
    """A document of the session by its name, which is looked up in a table: no path is ever opened."""
    name = _clean(source, most=1_000)
    allowed = turn.asked.documents
    text = None
    if allowed is None or name in allowed:
        text = await turn.run(lambda: turn.library.text(name, limit=1))
    if text is None:
        raise ToolRefused("there is no such document: list_available_documents names them")
    return text


def _passages(found: list[Citable], *, answered: bool) -> str:
    if not answered or not found:
        return "0 passages: nothing answers this well enough."
    return f"{len(found)} passages, best first.\n{fence([passage_record(item) for item in found])}"


def _pages(first: int | None, last: int | None) -> tuple[int, int] | None:
    return None if first is None or last is None else (first, last)


def _clean(text: str, *, most: int = 400) -> str:
    """Text that can be stored and compared: no U+0000, no halves of pairs, one line."""
    plain = unicodedata.normalize("NFC", "".join(" " if "\ud800" <= c <= "\udfff" or c == "\0" else c for c in text))
    clean = " ".join(plain.split())[:most]
    if not clean:
        raise InvalidQuery("the argument is empty")
    return clean


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
