"""Sessions of the assistant: list, read, rename, limit to documents, delete."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pipelines.assistant.conversations import Conversations
from pipelines.assistant.record import read_session
from pipelines.errors import SessionNotFound
from pipelines.serving.bodies import read_json
from pipelines.serving.chat import body_of
from pipelines.serving.knowledge import Knowledge
from pipelines.serving.names import Word
from pipelines.serving.workers import Workers
from pipelines.storage import chats
from pipelines.storage.database import Connection


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SessionEntry(_Body):
    """A session in the list. `unanswered`: one of its questions found no answer."""

    id: UUID
    title: str
    created_at: datetime
    updated_at: datetime
    turns: int
    unanswered: bool


class SessionPage(_Body):
    """Sessions, the one that was used last first. `next_offset` is null on the last page."""

    sessions: list[SessionEntry]
    next_offset: int | None


class TurnUsage(_Body):
    """Tokens and, where the price is known, dollars. `model` is null where no model was asked."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float | None
    model: str | None


class TurnSource(_Body):
    """A passage that the answer may cite as [n]. `gone`: it cannot be read any more, so its text is empty."""

    n: int
    id: str
    source: str
    title: str
    section: str
    lines: tuple[int, int] | None
    pages: tuple[int, int] | None
    text: str
    score: float
    locale: str
    gone: bool = False


class TurnBody(_Body):
    """A question and its answer. `query`: what was searched for."""

    id: UUID
    question: str
    query: str
    rewritten: bool
    answer: str
    answered: bool
    complete: bool
    running: bool
    cancelled: bool
    problem: str | None
    removed_citations: int
    created_at: datetime
    sources: list[TurnSource]
    usage: TurnUsage


class SessionBody(_Body):
    """A session with its turns, oldest first."""

    id: UUID
    title: str
    documents: list[str] | None
    turns: list[TurnBody]


class SessionChange(_Body):
    """What to change of a session; what is left out stays."""

    title: Annotated[Word | None, Field(min_length=1, max_length=200)] = None
    documents: Annotated[
        list[Annotated[Word, Field(min_length=1, max_length=4_000)]] | None,
        Field(min_length=1, max_length=200, description="The only documents to search; null: all."),
    ] = None


def create_sessions_router(knowledge: Knowledge, workers: Workers, conversations: Conversations) -> APIRouter:
    """The routes under /api/sessions."""
    router = APIRouter(prefix="/api/sessions", tags=["chat"])

    @router.get("", response_model=SessionPage, summary="Sessions, the last used first")
    async def list_sessions(
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0, limit: Annotated[int, Query(ge=1, le=500)] = 100
    ) -> dict[str, Any]:
        rows = await workers.run(
            lambda: knowledge.transact(
                lambda connection: chats.list_sessions(connection, limit=limit + 1, offset=offset)
            )
        )
        return {"sessions": rows[:limit], "next_offset": offset + limit if len(rows) > limit else None}

    @router.get("/{session_id}", response_model=SessionBody, summary="A session with its turns")
    async def read(session_id: UUID) -> dict[str, Any]:
        return await workers.run(lambda: knowledge.transact(lambda connection: read_session(connection, session_id)))

    @router.patch(
        "/{session_id}",
        response_model=SessionBody,
        summary="Rename a session, or limit it to documents",
        openapi_extra=body_of(SessionChange),
    )
    async def change(session_id: UUID, request: Request) -> dict[str, Any]:
        wanted = await read_json(request, SessionChange)

        def work() -> dict[str, Any]:
            return knowledge.transact(lambda connection: _change(connection, session_id, wanted))

        return await workers.run(work)

    @router.delete("/{session_id}", status_code=204, summary="Delete a session with everything in it")
    async def delete(session_id: UUID) -> Response:
        await conversations.cancel(session_id)
        gone = await workers.run(
            lambda: knowledge.transact(lambda connection: chats.delete_session(connection, session_id))
        )
        if not gone:
            raise SessionNotFound("there is no such session: it was deleted, or never was")
        return Response(status_code=204)

    return router


def _change(connection: Connection, session: UUID, wanted: SessionChange) -> dict[str, Any]:
    if "title" in wanted.model_fields_set and wanted.title is not None:
        chats.rename(connection, session, " ".join(wanted.title.split()) or "…")
    if "documents" in wanted.model_fields_set:
        chats.limit_documents(connection, session, wanted.documents)
    return read_session(connection, session)
