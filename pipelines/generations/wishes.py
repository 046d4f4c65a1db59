"""Whose EMBEDDING_MODEL counts, when processes disagree: that of the process whose settings are the youngest.

A daemon or a `watch` that was started before the setting changed still names the old model. If it had a say, it would
abandon the migration that a newer process has begun, or undo its switch. It goes on writing every live generation.
"""

import time

from pipelines.storage import documents
from pipelines.storage.database import Connection

_FACT = "wanted_model"
_FRESH = 60.0  # seconds after which a wish that has not changed is written down again

_wish: dict[str, float] = {}
"""The one fingerprint that this process wants, and since when."""


def has_say(connection: Connection, fingerprint: str) -> bool:
    """Whether this process's wish counts. Writes it down if it is younger than what is stored."""
    since = _since(fingerprint)
    stored = documents.get_fact(connection, _FACT) or {"fingerprint": "", "since": 0.0}
    if stored["fingerprint"] != fingerprint and stored["since"] > since:
        return False
    if stored["fingerprint"] != fingerprint or stored["since"] < since - _FRESH:
        documents.put_fact(connection, _FACT, {"fingerprint": fingerprint, "since": since})
    return True


def renew(fingerprint: str) -> None:
    """Wish it from now on: somebody has just asked for it by name."""
    _wish.clear()
    _wish[fingerprint] = time.time()


def _since(fingerprint: str) -> float:
    if fingerprint not in _wish:
        renew(fingerprint)
    return _wish[fingerprint]
