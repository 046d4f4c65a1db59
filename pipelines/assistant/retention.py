"""Old conversations, memories and leads are deleted, as the settings say."""

from pipelines.settings import Settings
from pipelines.storage import chats, memories
from pipelines.storage.database import Database


def forget(database: Database, settings: Settings) -> dict[str, int]:
    """Delete what is older than its setting allows, and give up turns that no process answers; returns how many."""
    with database.connect() as connection:
        return {
            "sessions": chats.forget_sessions(connection, days=settings.assistant_session_days),
            "memories": memories.forget_memories(connection, days=settings.assistant_memory_days),
            "leads": memories.forget_leads(connection, days=settings.assistant_lead_days),
            "abandoned_turns": chats.end_abandoned(connection),
        }
