"""Server-sent events, as text."""

import json
from collections.abc import Mapping

KEEP_ALIVE = ": keep-alive\n\n"
"""A sign of life that is no event: proxies and browsers give up a connection that is silent for long."""

HEADERS = {"X-Accel-Buffering": "no"}
"""A proxy that collects an answer would show it all at once."""


def event(name: str, data: Mapping[str, object]) -> str:
    """An event with one JSON object. JSON has no line breaks of its own, so that one `data` line holds any text."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
