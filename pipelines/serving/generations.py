"""Generations and how far a migration is, as `vaultline status` knows them, and per folder."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from pipelines.serving.knowledge import Knowledge
from pipelines.serving.workers import Workers
from pipelines.status import generation_rows
from pipelines.storage import generation_states
from pipelines.storage.database import Connection

_SAME = ("id", "model", "dimensions", "state", "held", "bytes", "tokens", "cost_usd", "created_at", "left_at")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FolderProgress(_Body):
    """A folder's chunks, and how many of them have a vector."""

    folder: str = Field(description="Partition key: the top-level folder, percent-encoded.")
    chunks: int
    embedded: int


class GateCheck(_Body):
    """One question of the gate before a promotion."""

    name: str
    passed: bool
    detail: str


class GenerationEntry(_Body):
    """One model's index. Addresses and errors of providers stay with `vaultline status`."""

    id: int
    model: str
    dimensions: int
    state: str = Field(description="building, active, previous or retired.")
    held: bool = Field(description="Left by a rollback: not promoted again by itself.")
    chunks: int = Field(description="Chunks that it should hold; 0 when it is retired.")
    embedded: int = Field(description="Of these, with a vector of its model (or refused by it for good).")
    pending: int = Field(description="Of these, not yet in the table that a search of it reads.")
    documents_pending: int
    folders: list[FolderProgress]
    failed: bool = Field(description="Whether its last run ended early.")
    gate: list[GateCheck]
    bytes: int = Field(description="Of its table with its indexes.")
    tokens: int
    cost_usd: float
    created_at: datetime
    switched_at: datetime | None = Field(description="When search began to read it.")
    left_at: datetime | None
    retired_at: datetime | None


class GenerationList(_Body):
    """Every generation, oldest first."""

    generations: list[GenerationEntry]


def create_generations_router(knowledge: Knowledge, workers: Workers) -> APIRouter:
    """GET /api/generations."""
    router = APIRouter(prefix="/api", tags=["generations"])

    @router.get("/generations", summary="Models' indexes, and how far a migration is")
    async def list_generations() -> GenerationList:
        rows = await workers.run(lambda: knowledge.transact(_entries))
        return GenerationList(generations=rows)

    return router


def _entries(connection: Connection) -> list[GenerationEntry]:
    return [_entry(connection, row) for row in generation_rows(connection)]


def _entry(connection: Connection, row: dict[str, Any]) -> GenerationEntry:
    retired = row["state"] == "retired"
    folders = [] if retired else generation_states.vector_progress(connection, row["id"])
    return GenerationEntry(
        chunks=sum(folder["chunks"] for folder in folders),
        embedded=sum(folder["embedded"] for folder in folders),
        pending=row["missing"],
        documents_pending=row["documents_missing"],
        folders=[FolderProgress.model_validate(folder) for folder in folders],
        failed=row["problem"] is not None,
        gate=[
            GateCheck(name=check["name"], passed=check["passed"], detail=check["detail"])
            for check in (row["gate"] or {}).get("checks", [])
        ],
        switched_at=row["activated_at"],
        retired_at=row["retired_at"],
        **{name: row[name] for name in _SAME},
    )
