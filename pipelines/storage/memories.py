"""Rows of `chat_memory` and `chat_lead`."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from pipelines.storage.database import Connection
from pipelines.storage.queries import query


@dataclass(frozen=True, slots=True)
class Memory:
    """Something that a person said and that is worth knowing later: a preference, a fact or a topic."""

    id: int
    kind: str
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Lead:
    """Somebody who wants to be called back."""

    id: int
    session_id: UUID | None
    name: str
    contact: str
    interest: str
    summary: str
    created_at: datetime


def last_memories(connection: Connection, *, limit: int) -> list[Memory]:
    """Memories, the one that was mentioned last first."""
    with connection.cursor(row_factory=class_row(Memory)) as cursor:
        return cursor.execute(query("chat_memories"), {"limit": limit}).fetchall()


def remember(connection: Connection, *, session: UUID, kind: str, content: str, folded: str, most: int) -> None:
    """Keep a memory, or see one again that has the same folded text; the oldest go where there are more than `most`."""
    parameters = {"session": session, "kind": kind, "content": content, "folded": folded}
    connection.execute(query("chat_remember"), parameters)
    connection.execute(query("chat_trim_memories"), {"most": most})


def delete_memory(connection: Connection, number: int) -> bool:
    """Delete a memory; False if it is not there."""
    return connection.execute(query("chat_delete_memory"), {"id": number}).rowcount > 0


def forget_memories(connection: Connection, *, days: int) -> int:
    """Delete memories that were not mentioned for so many days; returns how many."""
    return connection.execute(query("chat_forget_memories"), {"days": days}).rowcount


def put_lead(
    connection: Connection, *, session: UUID, turn: UUID, name: str, contact: str, interest: str, summary: str
) -> bool:
    """Keep a lead; False if the turn has left one already."""
    parameters = {
        "session": session,
        "turn": turn,
        "name": name,
        "contact": contact,
        "interest": interest,
        "summary": summary,
    }
    return connection.execute(query("chat_put_lead"), parameters).rowcount > 0


def list_leads(connection: Connection, *, limit: int) -> list[Lead]:
    """Leads, the youngest first."""
    with connection.cursor(row_factory=class_row(Lead)) as cursor:
        return cursor.execute(query("chat_leads"), {"limit": limit}).fetchall()


def delete_lead(connection: Connection, number: int) -> bool:
    """Delete a lead; False if it is not there."""
    return connection.execute(query("chat_delete_lead"), {"id": number}).rowcount > 0


def forget_leads(connection: Connection, *, days: int) -> int:
    """Delete leads of more than so many days ago; returns how many."""
    return connection.execute(query("chat_forget_leads"), {"days": days}).rowcount
