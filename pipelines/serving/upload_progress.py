"""How an upload is getting on, as events: parse, chunk, embed, store, each to its end and in this order, then `end`.

The tables are asked, so that it does not matter which process indexes the file, nor whether this server has been
started anew since it was uploaded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.storage.uploads import UploadSteps

STAGES = ("parse", "chunk", "embed", "store")

Event = tuple[str, dict[str, object]]


@dataclass
class Progress:
    """Turns looks at the tables into events, none twice. `digest` is the hash of the content that was uploaded."""

    source: str
    digest: str
    told: dict[str, tuple[int, int | None]] = field(default_factory=dict)

    def events(self, steps: UploadSteps | None) -> Iterator[Event]:
        """What is new. The last event, `end`, is there when the file is indexed, excluded or in quarantine."""
        if steps is None or steps.content_hash != self.digest:
            yield from self._tell([(0, None)])  # no scan has seen this content yet
            return
        if steps.state in ("quarantined", "excluded"):
            yield self.end(steps.state, steps.reason)
            return
        done: list[tuple[int, int | None]] = [(1, 1)] if steps.parsed else [(0, 1)]
        if steps.parsed:
            done.append((steps.chunks, steps.chunks) if steps.chunked else (0, None))
        if steps.parsed and steps.chunked:
            done.append((steps.embedded, steps.texts))
            if steps.embedded == steps.texts:
                done.append((int(steps.state == "indexed"), 1))
        if steps.state == "indexed":
            yield from self._tell([(1, 1), (steps.chunks,) * 2, (steps.texts,) * 2, (1, 1)])
            yield self.end("indexed", None)
        else:
            yield from self._tell(done)

    def end(self, state: str, reason: str | None) -> Event:
        """The last event."""
        return "end", {"state": state, "reason": reason, "source": self.source}

    def _tell(self, figures: list[tuple[int, int | None]]) -> Iterator[Event]:
        for stage, (done, total) in zip(STAGES, figures, strict=False):
            before = self.told.get(stage)
            # Never back: a look may see less than the one before, when a row is made anew.
            if before is None or (
                before != (done, total) and (done, total is not None) >= (before[0], bool(before[1]))
            ):
                self.told[stage] = (done, total)
                yield "progress", {"stage": stage, "done": done, "total": total}
