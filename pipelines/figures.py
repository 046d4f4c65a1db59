"""Figures of one stage of one run."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

_TOLD = 10
"""Documents of a folder that are named: the record of a run is kept for long, and a person reads the first few."""


@dataclass
class Work:
    """Figures of one stage of one run, by name and also by folder. `extra` are of the run and need not be counts.

    `told` names the last documents of each folder that something happened to, with what: never text of a note.
    """

    folders: Sequence[str]
    total: Counter[str] = field(default_factory=Counter)
    by_folder: dict[str, Counter[str]] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    told: dict[str, deque[dict[str, str | int]]] = field(default_factory=dict)

    def count(self, folder: str | None, **figures: int) -> None:
        """Add to the figures, and to a folder's own if it is known."""
        self.total.update(figures)
        if folder is not None:
            self.by_folder.setdefault(folder, Counter()).update(figures)

    def note(self, folder: str, **figures: int) -> None:
        """Set a folder's own figures, which do not add up to one of the run."""
        self.by_folder.setdefault(folder, Counter()).update(figures)

    def tell(self, folder: str, source: str, **what: str | int) -> None:
        """Name a document of a folder and what happened to it; only the last few are kept."""
        self.told.setdefault(folder, deque(maxlen=_TOLD)).append({"source": source, **what})
