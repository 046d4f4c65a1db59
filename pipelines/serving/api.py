"""The HTTP API: routes, what they take and what they answer with."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse

from pipelines.serving.health import Health, overall
from pipelines.serving.knowledge import Knowledge
from pipelines.serving.models import (
    DocumentPage,
    DocumentText,
    FaqDraft,
    HealthReport,
    ProblemBody,
    SearchAnswer,
    State,
    UnansweredPage,
)
from pipelines.serving.names import Word, name_of
from pipelines.serving.outline import outline_of
from pipelines.serving.problems import NOT_FOUND
from pipelines.serving.workers import Workers

LONGEST_QUESTION = 20_000
"""Characters of `q`; the searcher cuts questions far earlier, with a notice."""


PROBLEM_TYPE = "application/problem+json"

_PROBLEM = {"model": ProblemBody, "content": {PROBLEM_TYPE: {}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _PROBLEM | {"description": "The question cannot be asked."},
    401: _PROBLEM | {"description": "The server wants a token."},
    422: _PROBLEM | {"description": "A parameter is missing or not allowed."},
    503: _PROBLEM | {"description": "Busy, the database is away, or nothing is indexed yet: try again."},
    504: _PROBLEM | {"description": "Took too long."},
}


def create_router(knowledge: Knowledge, workers: Workers) -> APIRouter:
    """The routes under /api. Whatever asks the database or the model runs in `workers`."""
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    health = Health(knowledge)

    @router.get("/search", response_model=SearchAnswer, tags=["search"], summary="Cited passages that answer")
    async def search(
        q: Annotated[str, Query(max_length=LONGEST_QUESTION, description="The question; nothing in it is syntax.")],
        k: Annotated[int, Query(ge=1, le=100, description="How many passages.")] = 10,
        locale: Annotated[Word | None, Query(max_length=35, description="Search this language first.")] = None,
        folder: Annotated[Word | None, Query(max_length=1_000, description="Only this folder.")] = None,
        mode: Annotated[Literal["hybrid", "vector", "text"], Query()] = "hybrid",
        tags: Annotated[
            list[Word] | None, Query(max_length=20, description="Only documents with all of these tags.")
        ] = None,
        since: Annotated[Word | None, Query(max_length=40, description="Changed then or later, ISO 8601.")] = None,
        until: Annotated[Word | None, Query(max_length=40, description="Changed before, ISO 8601.")] = None,
        source: Annotated[Word | None, Query(max_length=4_000, description="Only this document.")] = None,
    ) -> Response:
        result = await workers.run(
            lambda: knowledge.search(
                q,
                k=k,
                locale=locale,
                folder=folder,
                tags=tags or (),
                since=since,
                until=until,
                source=source,
                mode=mode,
            )
        )
        return JSONResponse(result.to_json())

    @router.get("/documents", response_model=DocumentPage, tags=["documents"], summary="Documents and their states")
    async def list_documents(
        folder: Annotated[Word | None, Query(max_length=1_000, description="Only this folder.")] = None,
        state: Annotated[State | None, Query(description="Only documents in this state.")] = None,
        after: Annotated[Word | None, Query(max_length=4_000, description="`next` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> dict[str, object]:
        rows = await workers.run(lambda: knowledge.documents(folder=folder, state=state, after=after, limit=limit + 1))
        return {"documents": rows[:limit], "next": rows[limit - 1].source if len(rows) > limit else None}

    @router.get(
        "/documents/{source:path}",
        response_model=DocumentText,
        responses={404: _PROBLEM | {"description": "Not in the index."}},
        tags=["documents"],
        summary="Indexed text of a document, with its outline",
    )
    async def read_document(
        source: Annotated[str, Path(description="Its path relative to the vault, as citations show it.")],
        offset: Annotated[int, Query(ge=0, le=10_000_000, description="First character.")] = 0,
        limit: Annotated[int, Query(ge=1, le=200_000, description="Characters at most.")] = 50_000,
    ) -> Any:
        name = name_of(source)
        text = None if name is None else await workers.run(lambda: knowledge.text(name, offset=offset, limit=limit))
        if text is None:
            return problem_response(NOT_FOUND.to_json(), NOT_FOUND.status)
        end = offset + len(text.content)
        return {
            "source": text.source,
            "folder": text.folder,
            "title": text.title,
            "locale": text.locale,
            "media_type": text.media_type,
            "tags": text.tags,
            "properties": text.properties,
            "modified_at": text.modified_at,
            "outline": outline_of(text),
            "content": text.content,
            "characters": text.characters,
            "offset": offset,
            "next_offset": end if end < text.characters else None,
        }

    @router.get("/unanswered", response_model=UnansweredPage, tags=["search"], summary="Questions without an answer")
    async def list_unanswered(
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> dict[str, object]:
        rows = await workers.run(lambda: knowledge.unanswered(offset=offset, limit=limit + 1))
        return {"questions": rows[:limit], "next_offset": offset + limit if len(rows) > limit else None}

    @router.post(
        "/unanswered/{question_id}/draft",
        status_code=201,
        response_model=FaqDraft,
        responses={409: _PROBLEM | {"description": "Written already, or nowhere to write."}},
        tags=["search"],
        summary="Write a FAQ draft for an unanswered question into agent_learnings/ of the vault",
    )
    async def draft_answer(question_id: Annotated[str, Path(pattern="^[0-9a-f]{16}$")]) -> Any:
        return {"path": await workers.run(lambda: knowledge.draft(question_id))}

    @router.get(
        "/health",
        response_model=HealthReport,
        responses={503: {"model": HealthReport, "description": "A part that search needs does not work."}},
        tags=["server"],
        summary="How the database, the index and the embedder are",
    )
    async def health_report(response: Response) -> dict[str, object]:
        components = await workers.run(health.examine)
        status = overall(components)
        response.status_code = 503 if status == "unhealthy" else 200
        return {"status": status, "components": components}

    return router


def problem_response(body: dict[str, object], status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error as an answer."""
    return JSONResponse(body, status, headers, media_type=PROBLEM_TYPE)
