"""Old conversations, memories and leads go; younger ones stay. What two sessions said outlives one of them."""

from uuid import UUID, uuid4

from pipelines.assistant.memory import Note, keep
from pipelines.assistant.retention import forget
from pipelines.settings import Settings
from pipelines.storage import chats, memories
from pipelines.storage.database import Connection, Database


def begin(connection: Connection) -> tuple[UUID, UUID]:
    session, turn = uuid4(), uuid4()
    chats.begin_turn(connection, session=session, turn=turn, question="q", title="t", history=5, most=5)
    return session, turn


def test_what_is_older_than_its_setting_is_deleted(database: Database, settings: Settings) -> None:
    with database.connect() as connection:
        old, turn = begin(connection)
        young, _ = begin(connection)
        keep(connection, session=young, notes=[Note("fact", "old fact"), Note("fact", "young thing")])
        memories.put_lead(connection, session=old, turn=turn, name="n", contact="c", interest="", summary="")
        connection.execute("UPDATE chat_session SET updated_at = now() - interval '181 days' WHERE id = %s", (old,))
        connection.execute("UPDATE chat_memory SET seen_at = now() - interval '366 days' WHERE content = 'old fact'")
        connection.execute(
            "UPDATE chat_turn SET touched_at = now() - interval '1 hour' WHERE session_id = %s", (young,)
        )
    assert forget(database, settings) == {"sessions": 1, "memories": 1, "leads": 0, "abandoned_turns": 1}
    with database.connect() as connection:
        assert [session.id for session in chats.list_sessions(connection, limit=9)] == [young]
        assert [memory.content for memory in memories.last_memories(connection, limit=9)] == ["young thing"]
        [lead] = memories.list_leads(connection, limit=9)
        assert lead.session_id is None, "a lead outlives its session"
        connection.execute("UPDATE chat_lead SET created_at = now() - interval '366 days'")
    assert forget(database, settings)["leads"] == 1


def test_a_memory_goes_with_the_session_that_alone_said_it(database: Database) -> None:
    with database.connect() as connection:
        one, _ = begin(connection)
        other, _ = begin(connection)
        keep(connection, session=one, notes=[Note("fact", "trabaja con datos"), Note("topic", "migrar a voyage")])
        keep(connection, session=other, notes=[Note("fact", "Trabaja con datos.")])
        chats.delete_session(connection, one)
        assert [memory.content for memory in memories.last_memories(connection, limit=9)] == ["Trabaja con datos."]


def test_the_memories_of_a_server_are_bounded(database: Database) -> None:
    with database.connect() as connection:
        session, _ = begin(connection)
        for number in range(5):
            memories.remember(connection, session=session, kind="fact", content=f"{number}", folded=f"{number}", most=3)
        assert len(memories.last_memories(connection, limit=9)) == 3
