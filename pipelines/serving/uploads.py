"""Files that callers bring: taken in, watched while they are indexed, listed, deleted.

They go into a folder of their own beside the vault and become sources `.uploads/NAME`.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from pipelines.errors import DocumentError, VaultlineError
from pipelines.serving import sse
from pipelines.serving.indexer import Indexer
from pipelines.serving.knowledge import Knowledge
from pipelines.serving.names import name_of
from pipelines.serving.problems import Problem, Refused
from pipelines.serving.upload_files import Receiving, clear_parts, delete_file, list_files
from pipelines.serving.upload_form import FORM_BYTES, receive_file
from pipelines.serving.upload_names import checked_name
from pipelines.serving.upload_progress import Progress
from pipelines.serving.workers import Overloaded, Workers
from pipelines.storage import documents
from pipelines.storage import uploads as storage
from pipelines.vault.content import HASH_BYTES, hash_file
from pipelines.vault.folders import UPLOADS
from pipelines.vault.roots import uploads_root
from pipelines.vault.scan import FoundFile
from pipelines.vault.uploads import prepare

PATH = "/api/uploads"

_AT_ONCE = 4
"""Files received at a time."""

_STREAMS = 64
"""Callers that watch at a time; each asks the database every `_LOOK` seconds."""

_LOOK = 0.3
_NAME_DIGITS = 16
_ID = _NAME_DIGITS + 2 * HASH_BYTES

_OFF = Problem(403, "uploads_off", "this server takes no files (SERVING_UPLOADS is off)")
_NO_PLACE = Problem(
    409,
    "no_place",
    "VAULTLINE_HOME lies in the vault, where nothing is written: set UPLOADS_PATH to a folder beside it",
)
_UNKNOWN = Problem(404, "not_found", "there is no such upload")
_WAITS = "it could not be indexed yet; that is tried again by itself, and the server's log says why"
_LEFT = "the last sync left it: `vaultline status` says what it waits for"

UploadedState = Literal["indexed", "quarantined", "excluded", "pending"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Accepted(_Body):
    """A file that has its place and is being indexed."""

    upload_id: str = Field(description="For /api/uploads/{upload_id}/events; it stands for this name and content.")
    source: str


class Upload(_Body):
    """An uploaded file."""

    name: str
    source: str = Field(description="What citations call it.")
    upload_id: str | None = Field(description="As at its upload; null until it has been read.")
    bytes: int
    uploaded_at: datetime
    state: UploadedState
    reason: str | None = Field(description="Why it is in quarantine or left out.")


class UploadList(_Body):
    """Uploads by name. `accepts`: endings of names; `most_bytes`: of a file."""

    uploads: list[Upload]


class Deleted(_Body):
    """The source that is gone, from the folder and from the index."""

    deleted: str


class Uploads:
    """The uploads of one server."""

    def __init__(self, knowledge: Knowledge, workers: Workers) -> None:
        """Raises SettingsError if the vault and the folder of uploads lie in each other."""
        self.settings = knowledge.settings
        self.root = uploads_root(self.settings)
        self.indexer = Indexer(self.settings)
        self._knowledge = knowledge
        self._workers = workers
        self._receiving = 0
        self._watched = 0

    @property
    def bodies(self) -> dict[tuple[str, str], int]:
        """Bytes that a request may have, by method and path."""
        return {("POST", PATH): self.settings.upload_max_bytes + FORM_BYTES} if self.settings.serving_uploads else {}

    async def start(self) -> None:
        """Go on with what a server that was stopped had taken and not indexed."""
        if self.settings.serving_uploads and self.root is not None:
            root = self.root
            await self._workers.run(lambda: _prepare(root))
            if any(item.state == "pending" for item in await self.listed()):
                self.indexer.ask()

    async def close(self) -> None:
        """Interrupt the indexing; what it did is kept."""
        await self.indexer.close()

    async def receive(self, request: Request) -> Accepted:
        """Take the file of a form. Raises Refused."""
        root = self._place()
        if self._receiving >= _AT_ONCE:
            raise Overloaded("the server is receiving other files: try again in a moment")
        self._receiving += 1
        try:
            most = self.settings.upload_max_bytes
            received = await receive_file(request, self._begin(root), most=most)
        finally:
            self._receiving -= 1
        self.indexer.ask()
        return Accepted(upload_id=id_of(received.source, received.digest), source=received.source)

    async def listed(self) -> list[Upload]:
        """The files that are there, with their states."""
        root = self._place()
        files, states = await self._workers.run(
            lambda: (list_files(root), self._knowledge.transact(storage.upload_states))
        )
        return [_described(found, states.get(found.source)) for found in files]

    async def delete(self, name: str) -> Deleted:
        """Delete a file, and everything that was made of it from the index. Raises Refused if there is none."""
        root = self._place()
        source = f"{UPLOADS}/{(name_of(name) or '').removeprefix(f'{UPLOADS}/')}"

        def work() -> bool:
            found = next((found for found in list_files(root) if found.source == source), None)
            if found is None:
                return False
            delete_file(root, found)
            self._knowledge.transact(
                lambda connection: documents.delete_documents(
                    connection, storage.document_ids(connection, source), bury=False
                )
            )
            return True

        if not await self._workers.run(work):
            raise Refused(_UNKNOWN)
        self.indexer.ask()  # texts and vectors that nothing else needs go as well, at its end
        return Deleted(deleted=source)

    async def watch(self, upload_id: str) -> AsyncIterator[str]:
        """The events of an upload, until it is indexed or will not be. Raises Refused for an id that is none."""
        root = self._place()
        if len(upload_id) != _ID or set(upload_id) - set("0123456789abcdef"):
            raise Refused(_UNKNOWN)
        found = await self._find(root, upload_id)
        if found is None:
            raise Refused(_UNKNOWN)
        if self._watched >= _STREAMS:
            raise Overloaded("the server has too many streams open: try again in a moment")
        return self._events(root, found.source, upload_id)

    async def _events(self, root: Path, source: str, upload_id: str) -> AsyncIterator[str]:
        progress = Progress(source, upload_id[_NAME_DIGITS:])
        silent = 0.0
        asked_at: int | None = None
        self._watched += 1
        try:
            while True:
                steps = None
                told = False
                try:
                    if (reason := await self._workers.run(lambda: _gone(root, source, progress.digest))) is not None:
                        yield sse.event(*progress.end("refused", reason))
                        return
                    steps = await self._workers.run(
                        lambda: self._knowledge.transact(lambda connection: storage.upload_steps(connection, source))
                    )
                    for name, data in progress.events(steps):
                        yield sse.event(name, data)
                        told = True
                        if name == "end":
                            return
                except VaultlineError:
                    pass  # busy, or the database is away: the next look will tell
                if self.indexer.failed and asked_at is not None and self.indexer.runs > asked_at:
                    yield sse.event(*progress.end("pending", _WAITS))
                    return
                if not self.indexer.is_busy and asked_at is not None and self.indexer.runs > asked_at:
                    yield sse.event(*progress.end("pending", _LEFT))
                    return
                if not self.indexer.is_busy or (self.indexer.failed and asked_at is None):
                    self.indexer.ask()
                asked_at = self.indexer.runs if asked_at is None else asked_at
                await asyncio.sleep(_LOOK)
                silent = 0.0 if told else silent + _LOOK
                if silent >= self.settings.assistant_heartbeat_seconds:
                    silent = 0.0
                    yield sse.KEEP_ALIVE
        finally:
            self._watched -= 1

    async def _find(self, root: Path, upload_id: str) -> FoundFile | None:
        files = await self._workers.run(lambda: list_files(root))
        wanted = upload_id[:_NAME_DIGITS]
        return next((found for found in files if _name_digest(found.source) == wanted), None)

    def _begin(self, root: Path) -> Callable[[bytes], Receiving]:
        def begin(raw: bytes) -> Receiving:
            name = checked_name(raw)
            others = (found.size for found in list_files(root) if found.source != f"{UPLOADS}/{name}")
            room = self.settings.uploads_max_bytes - sum(others)
            return Receiving(root, name, most=self.settings.upload_max_bytes, room=room)

        return begin

    def _place(self) -> Path:
        if not self.settings.serving_uploads:
            raise Refused(_OFF)
        if self.root is None:
            raise Refused(_NO_PLACE)
        return self.root


def create_uploads_router(uploads: Uploads) -> APIRouter:
    """The routes under /api/uploads."""
    router = APIRouter(prefix=PATH, tags=["uploads"])

    @router.post(
        "",
        status_code=202,
        summary="Take a PDF, Markdown or text file and index it",
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    "multipart/form-data": {
                        "schema": {
                            "type": "object",
                            "required": ["file"],
                            "properties": {"file": {"type": "string", "format": "binary"}},
                        }
                    }
                },
            }
        },
    )
    async def upload_file(request: Request) -> Accepted:
        return await uploads.receive(request)

    @router.get("", summary="Uploaded files and their states")
    async def list_uploads() -> UploadList:
        return UploadList(uploads=await uploads.listed())

    @router.get(
        "/{upload_id}/events",
        summary="How an upload is getting on",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "progress, end"}},
    )
    async def upload_events(upload_id: str) -> StreamingResponse:
        events = await uploads.watch(upload_id)
        return StreamingResponse(events, media_type="text/event-stream", headers=sse.HEADERS)

    @router.delete("/{name:path}", summary="Delete an uploaded file, and what was made of it")
    async def delete_upload(name: str) -> Deleted:
        return await uploads.delete(name)

    return router


def id_of(source: str, digest: str) -> str:
    """The id of an upload: it names a source and a content, so that no table has to remember it."""
    return _name_digest(source) + digest


def _name_digest(source: str) -> str:
    return hashlib.blake2b(source.encode(), digest_size=_NAME_DIGITS // 2).hexdigest()


def _prepare(root: Path) -> None:
    try:
        prepare(root)
    except OSError:
        return  # the first upload says so
    clear_parts(root)


def _gone(root: Path, source: str, digest: str) -> str | None:
    """Why this content will not be indexed: it is not there any more."""
    try:
        if hash_file(root / source.removeprefix(f"{UPLOADS}/")) != digest:
            return "another file of this name has replaced it"
    except FileNotFoundError:
        return "it was deleted"
    except DocumentError:
        return None  # a scan will say what is wrong with it
    return None


def _described(found: FoundFile, known: storage.UploadState | None) -> Upload:
    state, reason, digest = "pending", None, None
    if found.problem or found.excluded:
        state, reason = ("excluded" if found.excluded else "quarantined"), found.problem or found.excluded
    elif known is not None:
        state, reason, digest = known.state, known.reason, known.content_hash
    return Upload(
        name=found.source.removeprefix(f"{UPLOADS}/"),
        source=found.source,
        upload_id=None if digest is None else id_of(found.source, digest),
        bytes=found.size,
        uploaded_at=datetime.fromtimestamp(found.mtime_ns / 1e9, UTC),
        state=state,  # type: ignore[arg-type]  # as the view document_status says it
        reason=reason,
    )
