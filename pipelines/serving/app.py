"""The server's assembly: API, page and MCP behind one guard."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

import pipelines
from pipelines.assistant.conversations import Conversations
from pipelines.assistant.model import check_llm
from pipelines.errors import VaultlineError
from pipelines.serving.api import PROBLEM_TYPE, PROBLEMS, create_router, problem_response
from pipelines.serving.chat import create_chat_router, describe
from pipelines.serving.generations import create_generations_router
from pipelines.serving.guard import LARGEST_BODY, Guard, check_address
from pipelines.serving.knowledge import Knowledge
from pipelines.serving.mcp_server import create_mcp_server
from pipelines.serving.memories import create_memories_router
from pipelines.serving.page import create_page_router, load_page
from pipelines.serving.problems import UNEXPECTED, Problem, problem_of
from pipelines.serving.sessions import create_sessions_router
from pipelines.serving.uploads import Uploads, create_uploads_router
from pipelines.serving.workers import Workers
from pipelines.settings import Settings

_log = logging.getLogger(__name__)

_CHAT_THREADS = 6
"""Searches of chats at a time; each holds a connection of the pool's 8."""

_CODES = {404: "not_found", 405: "method_not_allowed", 422: "invalid_parameter"}


def create_app(settings: Settings, *, host: str = "127.0.0.1") -> ASGIApp:
    """Everything that is served at `host`, behind the guard. Raises SettingsError if `host` needs a token."""
    check_address(host, settings)
    check_llm(settings)
    knowledge = Knowledge(settings)
    workers = Workers(limit=settings.serving_concurrency, seconds=settings.serving_timeout_seconds)
    # A place and a wait of their own: fifty people who ask at once are answered one after the other, not refused.
    chat_workers = Workers(
        limit=2 * settings.assistant_concurrency + _CHAT_THREADS,
        seconds=settings.assistant_turn_seconds,
        threads=_CHAT_THREADS,
    )
    conversations = Conversations(knowledge, chat_workers.run, describe)
    uploads = Uploads(knowledge, workers)
    mcp = create_mcp_server(knowledge, workers)
    mcp_app = mcp.streamable_http_app(
        json_response=True,
        stateless_http=True,  # one request, one answer: no sessions to lose at a restart
        max_request_body_size=LARGEST_BODY,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            warming = asyncio.create_task(_warm_up(knowledge, workers, uploads))
            loading = asyncio.create_task(_load(conversations))
            yield
            warming.cancel()
            loading.cancel()
            await uploads.close()
            await conversations.close()
        workers.close()
        chat_workers.close()
        knowledge.close()

    app = FastAPI(
        title="Vaultline",
        version=pipelines.__version__,
        description="Cited passages from a vault of notes.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=_operation_id,
        # Only tells OpenAPI: the guard has asked before.
        dependencies=[] if settings.serving_token is None else [Depends(HTTPBearer(auto_error=False))],
    )
    app.include_router(create_router(knowledge, workers))
    app.include_router(create_chat_router(conversations, settings), responses=PROBLEMS)
    app.include_router(create_sessions_router(knowledge, workers, conversations), responses=PROBLEMS)
    app.include_router(create_memories_router(knowledge, workers), responses=PROBLEMS)
    app.include_router(create_uploads_router(uploads), responses=PROBLEMS)
    app.include_router(create_generations_router(knowledge, workers), responses=PROBLEMS)
    app.include_router(create_page_router())
    app.router.routes.extend(mcp_app.routes)

    _describe_problems(app)
    app.add_exception_handler(VaultlineError, _answer_error)
    app.add_exception_handler(Exception, _answer_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    return Guard(app, host=host, settings=settings, open_paths=load_page().paths, larger=uploads.bodies)


async def _warm_up(knowledge: Knowledge, workers: Workers, uploads: Uploads) -> None:
    """Load the model before the first question, and go on with uploads. What is wrong, the first request will tell."""
    with contextlib.suppress(VaultlineError):
        await workers.run(knowledge.try_embedder)
    with contextlib.suppress(VaultlineError):
        await uploads.start()


async def _load(conversations: Conversations) -> None:
    with contextlib.suppress(VaultlineError):
        await conversations.load()


def _describe_problems(app: FastAPI) -> None:
    """Have the OpenAPI document name the media type of errors: FastAPI gives every model its own default."""
    for path in app.openapi()["paths"].values():
        for operation in path.values():
            for response in operation["responses"].values():
                if PROBLEM_TYPE in response.get("content", {}):
                    response["content"] = {PROBLEM_TYPE: response["content"]["application/json"]}


def _operation_id(route: APIRoute) -> str:
    return route.name


def _answer_error(request: Request, error: Exception) -> JSONResponse:
    problem = problem_of(error)
    if problem is UNEXPECTED:
        _log.error("%s failed", request.url.path, exc_info=error)
    elif problem.status >= 500:
        _log.warning("%s: %s", request.url.path, error)
    return _answer(problem)


def _answer_http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _answer(Problem(error.status_code, _CODES.get(error.status_code, "refused"), str(error.detail)))


def _answer_invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # What was given is not repeated.
    found = "; ".join(f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}" for item in error.errors())
    return _answer(Problem(422, "invalid_parameter", found))


def _answer(problem: Problem) -> JSONResponse:
    return problem_response(problem.to_json(), problem.status, problem.headers)
