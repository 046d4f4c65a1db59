"""What people say about themselves, kept for later conversations. Never from notes: only their own message is read."""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pipelines.parsing.secrets import find_secrets
from pipelines.retrieval.unanswered import mask
from pipelines.storage import memories
from pipelines.storage.database import Connection

MOST = 200
"""Memories of a server; the ones that were mentioned longest ago go first."""

LONGEST = 300
_MOST_IN_ONE = 3
_ALIKE = 0.8
"""Share of words in common from which two memories are the same."""

_PERSONAL = re.compile(
    r"\b(yo|mi|mis|me|nos|nuestr[oa]s?|soy|somos|estoy|estamos|trabajo|trabajamos|prefiero|preferimos|uso|usamos|quiero"
    r"|recuerda|llamo|i|i'm|my|me|we|we're|our|us|prefer|remember|call)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")
_ASKING = re.compile(
    r"\s*(¿|(how|what|when|where|which|who|why|can|could|do|does|is|are|como|cómo|que|qué|cuando|cuándo"
    r"|donde|dónde|quien|quién|cual|cuál|por qué)\b)",
    re.IGNORECASE,
)
_KINDS = ("preference", "fact", "topic")
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Note:
    """Something to remember."""

    kind: str
    text: str


def may_tell(message: str) -> bool:
    """Whether a message can say anything of its writer: most questions do not, and need not be read again."""
    said = (part for part in _SENTENCE.split(message) if not part.strip().endswith("?"))
    return any(_PERSONAL.search(part) and not _ASKING.match(part) for part in said)


def read_notes(answer: str, message: str, names: Sequence[str]) -> list[Note]:
    """What a model noted, as far as it can be read and the message says it. Secrets and contacts are masked.

    `names` are those that the vault anonymises. Half of a note's words at least have to stand in the message: what
    does not was not said.
    """
    notes = []
    for item in _objects(answer)[:_MOST_IN_ONE]:
        kind, text = item.get("kind"), item.get("text")
        if kind not in _KINDS or not isinstance(text, str) or find_secrets(text):
            continue
        clean = mask(" ".join(text.replace("\0", " ").split()), names)[:LONGEST]
        words, said = _words(text), _words(message)
        if words and len(words & said) * 2 >= len(words):
            notes.append(Note(kind, clean))
    return notes


def keep(connection: Connection, *, session: UUID, notes: Sequence[Note]) -> None:
    """Store notes; one that is much like a memory is that memory said again."""
    known = memories.last_memories(connection, limit=MOST)
    for note in notes:
        words = _words(note.text)
        same = next((item for item in known if _alike(words, _words(item.content))), None)
        memories.remember(
            connection,
            session=session,
            kind=note.kind,
            content=note.text,
            folded=fold(note.text if same is None else same.content),
            most=MOST,
        )


def fold(text: str) -> str:
    """The key of a memory: its words, without case, accents and signs."""
    plain = unicodedata.normalize("NFD", text.casefold())
    return " ".join(re.findall(r"\w+", "".join(char for char in plain if not unicodedata.combining(char))))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(text)))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= _ALIKE * len(one | other)


def _objects(answer: str) -> list[dict[str, Any]]:
    begin, end = answer.find("["), answer.rfind("]")
    if begin < 0 or end < begin:
        return []
    try:
        found = json.loads(answer[begin : end + 1])
    except ValueError:
        return []
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
