"""Turns as they run: one at a time in a session, stored whatever happens to who asked, stopped when told to.

A turn belongs to the server, not to the connection: a client that leaves finds the answer when it comes back. What was
said so far is written every few seconds, with a sign that the process lives, so that a killed one leaves the beginning
of an answer, marked as incomplete, and no session that is busy for ever.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from pipelines.assistant import events
from pipelines.assistant import turn as turns
from pipelines.assistant.desk import Asked, Library, Run, Turn
from pipelines.assistant.events import Event
from pipelines.errors import Transient, VaultlineError
from pipelines.storage import chats

if TYPE_CHECKING:
    from pipelines.assistant.agent import Llm

Describe = Callable[[Exception], tuple[str, str]]
"""(kind, message) of an error, for people: no secrets, no addresses."""

_TOUCH_SECONDS = 3.0
_SAVE_ATTEMPTS = 4
_TITLE = 60

_log = logging.getLogger(__name__)


class Running:
    """A turn that is being answered, and its events for one listener."""

    def __init__(self, asked: Asked) -> None:
        self.session, self.turn = asked.session, asked.turn
        self.cancelled = False
        self.ending = False
        self.task: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[Event] | None = asyncio.Queue()

    def tell(self, event: Event) -> None:
        """Pass an event on; to nobody, if the listener has left."""
        if self._events is not None:
            self._events.put_nowait(event)

    async def listen(self, *, seconds: float) -> AsyncIterator[Event | None]:
        """The events up to `end`; None after each `seconds` without one. Whoever stops listening misses the rest."""
        assert self._events is not None
        try:
            while True:
                try:
                    event = await asyncio.wait_for(self._events.get(), seconds)
                except TimeoutError:
                    yield None
                    continue
                yield event
                if event.name == "end":
                    return
        finally:
            self._events = None

    def stop(self, *, cancelled: bool = True) -> bool:
        """End the turn now: what it has said stays. False if it is ending anyway: it must be stored in peace."""
        if self.ending or self.task is None:
            return False
        self.ending, self.cancelled = True, cancelled
        self.task.cancel()
        return True


class Conversations:
    """The turns that run in this process."""

    def __init__(self, library: Library, run: Run, describe: Describe) -> None:
        self._library = library
        self._run = run
        self._describe = describe
        self._running: dict[UUID, Running] = {}
        self._after: set[asyncio.Task[None]] = set()
        self._llm: Llm | None = None
        self._loading = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._running)

    async def begin(
        self, message: str, *, session: UUID | None, locale: str | None = None, page: str | None = None
    ) -> Running:
        """Begin to answer a message, in a session or in a new one.

        Raises SessionNotFound, SessionBusy, SessionFull, DatabaseError, SettingsError.
        """
        settings = self._library.settings
        await self.load()
        turn, room = uuid4(), session or uuid4()
        title = " ".join(message.split())[:_TITLE] if session is None else None
        begun = await self._run(
            lambda: self._library.transact(
                lambda connection: chats.begin_turn(
                    connection,
                    session=room,
                    turn=turn,
                    question=message,
                    title=title,
                    history=max(1, settings.assistant_history),
                    most=settings.assistant_session_messages,
                )
            )
        )
        asked = Asked(room, turn, message, locale, page, begun.documents, begun.history)
        running = Running(asked)
        self._running[room] = running
        running.task = asyncio.create_task(self._answer(running, asked))
        return running

    async def cancel(self, session: UUID) -> bool:
        """Stop the turn that runs in a session, here or in another process; False if none does."""
        running = self._running.get(session)
        if running is not None:
            return running.stop()
        return await self._run(
            lambda: self._library.transact(lambda connection: chats.ask_to_cancel(connection, session))
        )

    async def close(self) -> None:
        """End all turns; what they have said stays, marked as incomplete."""
        tasks = [running.task for running in self._running.values() if running.task is not None]
        for running in list(self._running.values()):
            running.stop(cancelled=False)
        for task in self._after:
            task.cancel()
        await asyncio.gather(*tasks, *self._after, return_exceptions=True)
        if self._llm is not None:
            await self._llm.close()

    async def load(self) -> None:
        """Have the language model's library loaded, which takes a second: here, or in the first question's time."""
        if self._llm is None and self._library.settings.llm_model is not None:
            async with self._loading:
                if self._llm is None:
                    self._llm = await self._run(self._make)

    def _make(self) -> "Llm":
        from pipelines.assistant.agent import Llm

        return Llm(self._library.settings)

    async def _answer(self, running: Running, asked: Asked) -> None:
        turn = turns.begin(asked, self._library, self._run, running.tell)
        touching = asyncio.create_task(self._touch(running, turn))
        ended, problem = "complete", None
        try:
            async with asyncio.timeout(self._library.settings.assistant_turn_seconds):
                await turns.answer(turn, self._llm)
        except asyncio.CancelledError:
            ended = "cancelled" if running.cancelled else "failed"
            problem = None if running.cancelled else "interrupted"
            if problem:
                running.tell(events.error(problem, "the server is closing: ask again in a moment"))
        except TimeoutError:
            ended, problem = "failed", "timeout"
            running.tell(events.error(problem, "the answer took too long"))
        except Exception as error:
            ended = "failed"
            problem, message = self._describe(error)
            running.tell(events.error(problem, message))
        running.ending = True
        touching.cancel()
        if ended != "complete":
            turn.answered = False
        stored = await asyncio.shield(asyncio.create_task(self._store(turn, ended, problem)))
        if not stored and ended == "complete":
            ended = "failed"
            running.tell(events.error("not_stored", "the answer could not be stored"))
        self._running.pop(asked.session, None)
        running.tell(self._end(turn, ended))
        if ended == "complete" and self._llm is not None:
            self._later(self._llm.remember(turn))

    async def _touch(self, running: Running, turn: Turn) -> None:
        while True:
            await asyncio.sleep(_TOUCH_SECONDS)
            state = turn.state()
            try:
                stop = await self._run(
                    lambda state=state: self._library.transact(  # type: ignore[misc]
                        lambda connection: chats.touch_turn(connection, turn.asked.turn, state)
                    )
                )
            except VaultlineError as error:
                _log.warning("a running turn could not be written: %s", error)
                continue
            if stop:
                running.stop()
                return

    async def _store(self, turn: Turn, ended: str, problem: str | None) -> bool:
        state = turn.state(problem=problem)
        for attempt in range(1, _SAVE_ATTEMPTS + 1):
            try:
                return await self._run(
                    lambda: self._library.transact(
                        lambda connection: chats.end_turn(connection, turn.asked.turn, state, ended=ended)
                    )
                )
            except VaultlineError as error:
                if attempt == _SAVE_ATTEMPTS or not isinstance(error, Transient):
                    _log.error("a turn could not be stored: %s", error)
                    return False
                await asyncio.sleep(0.25 * 2**attempt)
        return False

    def _end(self, turn: Turn, ended: str) -> Event:
        return Event(
            "end",
            {
                "session_id": str(turn.asked.session),
                "turn_id": str(turn.asked.turn),
                "complete": ended == "complete",
                "answered": turn.answered,
                "cancelled": ended == "cancelled",
                "removed_citations": turn.removed,
                "contact": None if turn.answered else turn.settings.assistant_contact,
                "usage": turn.usage.to_json(),
            },
        )

    def _later(self, work: "asyncio.Future[None] | object") -> None:
        task = asyncio.create_task(_quietly(work))  # type: ignore[arg-type]
        self._after.add(task)
        task.add_done_callback(self._after.discard)


async def _quietly(work: "asyncio.Future[None]") -> None:
    with contextlib.suppress(VaultlineError):
        await work
