"""POST /api/chat: a message in, the answer as a stream of events out."""

import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from pipelines.assistant.conversations import Conversations, Running
from pipelines.errors import InvalidQuery
from pipelines.serving import sse
from pipelines.serving.bodies import read_json
from pipelines.serving.names import Word
from pipelines.serving.problems import UNEXPECTED, problem_of
from pipelines.serving.rates import Rate
from pipelines.serving.workers import Overloaded
from pipelines.settings import Settings

_log = logging.getLogger(__name__)


class ChatMessage(BaseModel):
    """A message of a person."""

    model_config = ConfigDict(extra="forbid")

    message: Annotated[Word, Field(min_length=1, description="The question.")]
    session_id: Annotated[UUID | None, Field(description="The session it belongs to; none: a new one.")] = None
    locale: Annotated[Literal["es", "en"] | None, Field(description="Language of the answer.")] = None
    page: Annotated[Word | None, Field(max_length=4_000, description="The document that is being read.")] = None


class Cancelled(BaseModel):
    """Whether there was a turn to stop."""

    cancelled: bool


def create_chat_router(conversations: Conversations, settings: Settings) -> APIRouter:
    """The routes of running turns."""
    router = APIRouter(prefix="/api", tags=["chat"])
    rate = Rate(settings.assistant_requests_per_minute)

    @router.post(
        "/chat",
        summary="Answer a message as a stream of events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "tool_start, sources, text, error, end"}},
        openapi_extra=body_of(ChatMessage),
    )
    async def chat(request: Request) -> StreamingResponse:
        rate.take(request.client.host if request.client else "")
        asked = await read_json(request, ChatMessage)
        if not asked.message.strip():
            raise InvalidQuery("the message is empty")
        if len(asked.message) > settings.assistant_message_characters:
            raise InvalidQuery(f"a message may have {settings.assistant_message_characters} characters at most")
        if len(conversations) >= settings.assistant_concurrency:
            raise Overloaded("the assistant is busy with other questions: try again in a moment")
        running = await conversations.begin(
            asked.message, session=asked.session_id, locale=asked.locale, page=asked.page
        )
        return StreamingResponse(
            _stream(running, seconds=settings.assistant_heartbeat_seconds),
            media_type="text/event-stream",
            headers=sse.HEADERS | {"Vaultline-Session": str(running.session), "Vaultline-Turn": str(running.turn)},
        )

    @router.post("/sessions/{session_id}/cancel", summary="Stop the turn that runs in a session")
    async def cancel(session_id: UUID) -> Cancelled:
        return Cancelled(cancelled=await conversations.cancel(session_id))

    return router


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The description of a body that is read by hand, for OpenAPI."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe(error: Exception) -> tuple[str, str]:
    """(kind, message) of what went wrong in a turn; the rest goes into the log."""
    problem = problem_of(error)
    if problem is UNEXPECTED:
        _log.error("a turn failed", exc_info=error)
    else:
        _log.warning("a turn failed: %s", error)
    return problem.code, problem.detail


async def _stream(running: Running, *, seconds: float) -> AsyncIterator[str]:
    async for event in running.listen(seconds=seconds):
        yield sse.KEEP_ALIVE if event is None else sse.event(event.name, event.data)
