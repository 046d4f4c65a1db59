"""Rows of `chat_session` and `chat_turn`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from pipelines.errors import SessionBusy, SessionFull, SessionNotFound
from pipelines.storage.database import Connection
from pipelines.storage.queries import query

ABANDONED_SECONDS = 30.0
"""After which a running turn that nobody touched is taken for dead; a living one is touched every few seconds."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """An earlier turn of a session. `messages` are in the form of the model's library, None where no model answered."""

    question: str
    query: str
    locale: str
    style: str
    answer: str
    answered: bool
    messages: list[Any] | None


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that has begun: what came before it in its session, oldest first, and the session's filter."""

    documents: list[str] | None
    history: list[PastTurn]


@dataclass(frozen=True, slots=True)
class TurnState:
    """What is known of a turn, at its end or on the way. `sources` are references to passages, without their text."""

    answer: str = ""
    query: str = ""
    rewritten: bool = False
    locale: str = ""
    style: str = "prose"
    sources: Sequence[Mapping[str, Any]] = ()
    answered: bool = False
    removed: int = 0
    problem: str | None = None
    messages: Sequence[Any] | None = None
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None

    def parameters(self) -> dict[str, object]:
        """Parameters of the statements that write it."""
        values: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        values["sources"] = Jsonb([dict(source) for source in self.sources])
        values["messages"] = None if self.messages is None else Jsonb(list(self.messages))
        return values


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session in a list. `unanswered`: it holds a question without an answer."""

    id: UUID
    title: str
    created_at: datetime
    updated_at: datetime
    turns: int
    unanswered: bool


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session; `documents` are the only sources that it searches, None where it searches all."""

    id: UUID
    title: str
    documents: list[str] | None


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn as it is stored; see the columns of `chat_turn`."""

    id: UUID
    question: str
    query: str
    rewritten: bool
    locale: str
    style: str
    answer: str
    state: str
    answered: bool
    problem: str | None
    removed_citations: int
    sources: list[dict[str, Any]]
    model: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage that an answer has shown and that can still be read. `hash`: SHA-256 of its text, in hexadecimal."""

    source: str
    ordinal: int
    title: str
    section: str
    content: str
    locale: str
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None
    hash: str = field(default="")


def begin_turn(
    connection: Connection,
    *,
    session: UUID,
    turn: UUID,
    question: str,
    title: str | None,
    history: int,
    most: int,
) -> Begun:
    """Write down a question before it is answered; with `title`, its session is new.

    `history` is how many earlier turns are wanted, `most` how many a session may have. May be run again with the same
    ids. Raises SessionNotFound, SessionBusy, SessionFull.
    """
    if title is not None:
        connection.execute(query("chat_new_session"), {"session": session, "title": title})
    found = connection.execute(query("chat_lock_session"), {"session": session}).fetchone()
    if found is None:
        raise SessionNotFound("there is no such session: it was deleted, or never was")
    end_abandoned(connection, session=session)
    counted = connection.execute(query("chat_turns_so_far"), {"session": session, "turn": turn}).fetchone()
    assert counted is not None
    if counted[1]:
        raise SessionBusy("the question before this one is still being answered: wait, or cancel it")
    if int(str(counted[0])) >= most:
        raise SessionFull(f"this session has its {most} messages: begin a new one")
    connection.execute(query("chat_begin_turn"), {"session": session, "turn": turn, "question": question})
    connection.execute(query("chat_touch_session"), {"session": session})
    with connection.cursor(row_factory=class_row(PastTurn)) as cursor:
        past = cursor.execute(query("chat_history"), {"session": session, "turn": turn, "limit": history}).fetchall()
    documents = found[0]
    assert documents is None or isinstance(documents, list)
    return Begun(documents, past)


def end_abandoned(connection: Connection, *, session: UUID | None = None, seconds: float = ABANDONED_SECONDS) -> int:
    """Give up turns that no process is answering any more, of one session or of all; returns how many."""
    return connection.execute(query("chat_end_abandoned"), {"session": session, "seconds": seconds}).rowcount


def touch_turn(connection: Connection, turn: UUID, state: TurnState) -> bool:
    """Say that a turn lives, and keep what it has said so far; True if it has to end (cancelled, deleted)."""
    row = connection.execute(query("chat_touch_turn"), state.parameters() | {"turn": turn}).fetchone()
    return row is None or bool(row[0])


def end_turn(connection: Connection, turn: UUID, state: TurnState, *, ended: str) -> bool:
    """Store how a turn ended ("complete", "cancelled" or "failed"); False if it is not running or not there."""
    parameters = state.parameters() | {"turn": turn, "state": ended}
    return connection.execute(query("chat_end_turn"), parameters).rowcount == 1


def add_usage(
    connection: Connection, turn: UUID, *, input_tokens: int, output_tokens: int, cached_tokens: int, cost_usd: float
) -> None:
    """Add what was spent for a turn after its end."""
    connection.execute(
        query("chat_add_usage"),
        {
            "turn": turn,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cached_tokens": cached_tokens,
            "cost_usd": cost_usd,
        },
    )


def ask_to_cancel(connection: Connection, session: UUID) -> bool:
    """Tell whichever process answers in a session to stop; False if none does."""
    return connection.execute(query("chat_ask_to_cancel"), {"session": session}).rowcount > 0


def said_by_user(connection: Connection, session: UUID, *, limit: int = 50) -> list[str]:
    """What the person wrote in a session, the latest first."""
    rows = connection.execute(query("chat_said_by_user"), {"session": session, "limit": limit})
    return [str(row[0]) for row in rows]


def list_sessions(connection: Connection, *, limit: int, offset: int = 0) -> list[ListedSession]:
    """Sessions, the one that was used last first."""
    with connection.cursor(row_factory=class_row(ListedSession)) as cursor:
        return cursor.execute(query("chat_sessions"), {"limit": limit, "offset": offset}).fetchall()


def get_session(connection: Connection, session: UUID) -> StoredSession:
    """One session. Raises SessionNotFound."""
    with connection.cursor(row_factory=class_row(StoredSession)) as cursor:
        found = cursor.execute(query("chat_session"), {"session": session}).fetchone()
    if found is None:
        raise SessionNotFound("there is no such session: it was deleted, or never was")
    return found


def turns(connection: Connection, session: UUID) -> list[StoredTurn]:
    """The turns of a session, oldest first."""
    with connection.cursor(row_factory=class_row(StoredTurn)) as cursor:
        return cursor.execute(query("chat_turns"), {"session": session}).fetchall()


def passages(connection: Connection, sources: Sequence[str], hashes: Sequence[str]) -> list[ShownPassage]:
    """Passages of these documents with these hashes, as the active generation has them."""
    with connection.cursor(row_factory=class_row(ShownPassage)) as cursor:
        parameters = {"sources": list(sources), "hashes": list(hashes)}
        return cursor.execute(query("chat_passages"), parameters).fetchall()


def rename(connection: Connection, session: UUID, title: str) -> None:
    """Give a session another title. Raises SessionNotFound."""
    _changed(connection.execute(query("chat_rename"), {"session": session, "title": title}).rowcount)


def limit_documents(connection: Connection, session: UUID, documents: Sequence[str] | None) -> None:
    """Have a session search these sources only, or all. Raises SessionNotFound."""
    parameters = {"session": session, "documents": None if documents is None else list(documents)}
    _changed(connection.execute(query("chat_limit_documents"), parameters).rowcount)


def delete_session(connection: Connection, session: UUID) -> bool:
    """Delete a session with its turns and memories; False if it is not there."""
    return connection.execute(query("chat_delete_session"), {"session": session}).rowcount > 0


def forget_sessions(connection: Connection, *, days: int) -> int:
    """Delete sessions that were not used for so many days; returns how many."""
    return connection.execute(query("chat_forget_sessions"), {"days": days}).rowcount


def _changed(rows: int) -> None:
    if not rows:
        raise SessionNotFound("there is no such session: it was deleted, or never was")
