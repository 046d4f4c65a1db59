"""What a turn tells while it runs, in the order of a stream: tool_start, sources, text, error, end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, and what it says as JSON values."""

    name: str
    data: Mapping[str, Any]


Emit = Callable[[Event], None]
"""Takes an event; never blocks, never fails."""


def tool_start(name: str, query: str, *, rewritten: bool) -> Event:
    """A tool runs. `query`: what it was asked; `rewritten`: it is not what the person typed."""
    return Event("tool_start", {"name": name, "query": query, "rewritten": rewritten})


def text(delta: str) -> Event:
    """More of the answer, Markdown, its citations checked."""
    return Event("text", {"text": delta})


def error(kind: str, message: str) -> Event:
    """The turn failed; `end` follows."""
    return Event("error", {"error": {"kind": kind, "message": message}})
