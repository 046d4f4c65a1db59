"""How the server's parts are: database, index, embedder."""

import logging
import time
from dataclasses import dataclass
from threading import Lock

from pipelines.errors import DatabaseError, VaultlineError
from pipelines.serving.knowledge import Knowledge
from pipelines.serving.problems import problem_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the server: "healthy", "degraded" (answers, but less well) or "unhealthy", and why."""

    status: str
    detail: str | None = None


class Health:
    """Asks the parts how they are. The embedder, which may cost money, is asked once a minute at most."""

    _EMBEDDER_SECONDS = 60.0

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._lock = Lock()
        self._embedder: tuple[float, Component] | None = None

    def examine(self) -> dict[str, Component]:
        """Every component by its name."""
        try:
            index = self._knowledge.index()
        except DatabaseError as error:
            _log.warning("health: %s", error)
            away = Component("unhealthy", "waits for the database")
            return {"database": Component("unhealthy", problem_of(error).detail), "index": away, "embedder": away}
        database = Component("healthy")
        if index is None:
            nothing = Component("unhealthy", "nothing is indexed yet: run `vaultline sync`")
            return {"database": database, "index": nothing, "embedder": Component("degraded", "no index names a model")}
        return {"database": database, "index": _index(index), "embedder": self._ask_embedder()}

    def _ask_embedder(self) -> Component:
        with self._lock:
            now = time.monotonic()
            if self._embedder is None or now - self._embedder[0] > self._EMBEDDER_SECONDS:
                self._embedder = (now, self._try_embedder())
            return self._embedder[1]

    def _try_embedder(self) -> Component:
        try:
            self._knowledge.try_embedder()
        except VaultlineError as error:
            _log.warning("health: %s", error)
            return Component("degraded", f"questions are answered by words alone: {problem_of(error).detail}")
        return Component("healthy")


def overall(components: dict[str, Component]) -> str:
    """The worst of the parts."""
    found = {component.status for component in components.values()}
    return next(status for status in ("unhealthy", "degraded", "healthy") if status in found)


def _index(index: dict[str, object]) -> Component:
    facts = f"{index['documents']} documents under {index['model']}"
    if index["quarantined"]:
        facts += f", {index['quarantined']} in quarantine"
    if index["waiting"]:
        return Component("degraded", f"{facts}; {index['waiting']} changed documents wait for a sync")
    return Component("healthy", facts)
