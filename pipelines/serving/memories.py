"""What the assistant remembers, who wants to be called back, and how it is set up."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

import pipelines
from pipelines.serving.knowledge import Knowledge
from pipelines.serving.problems import Problem, Refused
from pipelines.serving.workers import Workers
from pipelines.storage import memories
from pipelines.storage.database import Connection

LISTED = 500
"""Memories or leads of one answer: there are never more of the first."""

_GONE = Problem(404, "not_found", "there is no such entry: it was deleted, or never was")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MemoryEntry(_Body):
    """Something that a person said."""

    id: int
    kind: Literal["preference", "fact", "topic"]
    text: str
    created_at: datetime


class MemoryList(_Body):
    """Memories, the one that was mentioned last first. `enabled`: new ones are made."""

    memories: list[MemoryEntry]
    enabled: bool


class LeadEntry(_Body):
    """Somebody who wants to be called back."""

    id: int
    session_id: UUID | None
    name: str
    contact: str
    interest: str
    summary: str
    created_at: datetime


class LeadList(_Body):
    """Leads, the youngest first."""

    leads: list[LeadEntry]


class AssistantConfig(_Body):
    """The assistant's part of the set-up. `model` is null where answers are made of passages."""

    model: str | None
    memory: bool
    contact: str | None
    leads: bool


class Config(_Body):
    """What a page needs to know before it shows anything."""

    assistant: AssistantConfig
    uploads: bool
    version: str
    locale: Literal["es", "en"]


def create_memories_router(knowledge: Knowledge, workers: Workers) -> APIRouter:
    """The routes of memories and leads, and /api/config."""
    router = APIRouter(prefix="/api", tags=["chat"])
    settings = knowledge.settings

    @router.get("/config", response_model=Config, tags=["server"], summary="How the server is set up")
    async def config() -> dict[str, Any]:
        return {
            "assistant": {
                "model": settings.llm_model,
                "memory": settings.assistant_memory and settings.llm_model is not None,
                "contact": settings.assistant_contact,
                "leads": settings.assistant_leads and settings.llm_model is not None,
            },
            "uploads": settings.serving_uploads,
            "version": pipelines.__version__,
            "locale": "es" if settings.default_locale.lower().startswith("es") else "en",
        }

    @router.get("/memories", response_model=MemoryList, summary="What is remembered")
    async def list_memories() -> dict[str, Any]:
        found = await workers.run(
            lambda: knowledge.transact(lambda connection: memories.last_memories(connection, limit=LISTED))
        )
        return {
            "memories": [
                {"id": item.id, "kind": item.kind, "text": item.content, "created_at": item.created_at}
                for item in found
            ],
            "enabled": settings.assistant_memory and settings.llm_model is not None,
        }

    @router.delete("/memories/{number}", status_code=204, summary="Forget something")
    async def delete_memory(number: int) -> Response:
        return await _delete(lambda connection: memories.delete_memory(connection, number))

    @router.get("/leads", response_model=LeadList, summary="Who wants to be called back")
    async def list_leads() -> dict[str, Any]:
        found = await workers.run(
            lambda: knowledge.transact(lambda connection: memories.list_leads(connection, limit=LISTED))
        )
        return {"leads": found}

    @router.delete("/leads/{number}", status_code=204, summary="Delete a lead")
    async def delete_lead(number: int) -> Response:
        return await _delete(lambda connection: memories.delete_lead(connection, number))

    async def _delete(work: Callable[[Connection], bool]) -> Response:
        if not await workers.run(lambda: knowledge.transact(work)):
            raise Refused(_GONE)
        return Response(status_code=204)

    return router
