"""What must be true before search reads another generation.

The checks are facts about the tables (complete, valid), about the model (it answers, and as it did), about the index
(HNSW finds what exact search finds) and, where there is a golden set, about the quality of what people get: the fused
result, compared with the active generation's by paired bootstrap, language by language.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipelines.embedding.canary import CANARY_TEXT
from pipelines.embedding.protocol import Embedder, Role
from pipelines.errors import EmbeddingError, UsageError, VaultlineError
from pipelines.model_identity import check_model
from pipelines.settings import Settings
from pipelines.storage import generation_states as states
from pipelines.storage import generations, reports
from pipelines.storage.database import Database
from pipelines.storage.generations import Generation
from pipelines.storage.recall import measure_recall

if TYPE_CHECKING:
    from pipelines.retrieval.evaluation import Evaluation

CHECKS = ("complete", "valid", "model", "recall", "quality")
"""Names of the checks, in the order in which they are asked; the cheap ones first."""

_JUDGED = "ndcg@10"

_SETTLE = 15.0
"""Seconds that completeness may take to come true: edits in flight lack their rows for a moment."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer, in words and in figures."""

    name: str
    passed: bool
    detail: str
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's answer for a generation. `about` changes with everything the answer depends on."""

    generation: int
    against: int | None
    checks: tuple[Check, ...]
    about: str
    at: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def reasons(self) -> str:
        """What did not pass, in words."""
        return "; ".join(f"{check.name}: {check.detail}" for check in self.checks if not check.passed)

    def to_json(self) -> dict[str, Any]:
        """What is stored with the generation."""
        return {
            "passed": self.passed,
            "against": self.against,
            "checks": [
                {"name": check.name, "passed": check.passed, "detail": check.detail, "figures": check.figures}
                for check in self.checks
            ],
            "about": self.about,
            "at": self.at,
            "seconds": self.seconds,
        }


def examine(
    database: Database, generation: Generation, settings: Settings, *, embedder: Callable[[], Embedder]
) -> Verdict:
    """Ask everything of a live generation; cheap checks that fail keep the costly ones from being asked.

    With a golden set the generation is calibrated on it first; the verdict itself is not stored here. Raises
    DatabaseError; a provider that does not answer is a check that did not pass.
    """
    started = time.monotonic()
    with database.connect() as connection:
        active = generations.active_generation(connection)
    against = active if active is not None and active.id != generation.id else None
    checks: list[Check] = []
    for ask in (_complete, _valid):
        checks.append(ask(database, generation))
    if all(check.passed for check in checks):
        checks.append(_model(database, generation, embedder))
        checks.append(_recall(database, generation, settings))
    if all(check.passed for check in checks):
        checks.append(_quality(database, generation, against, settings))
    return Verdict(
        generation=generation.id,
        against=None if against is None else against.id,
        checks=tuple(checks),
        about=about(database, generation, settings),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 3),
    )


def from_json(generation: int, stored: dict[str, Any]) -> Verdict:
    """A stored verdict."""
    return Verdict(
        generation=generation,
        against=stored["against"],
        checks=tuple(Check(**check) for check in stored["checks"]),
        about=stored["about"],
        at=stored["at"],
        seconds=stored["seconds"],
    )


def about(database: Database, generation: Generation, settings: Settings) -> str:
    """A hash of what a verdict depends on: rows, golden set, thresholds, the generation it is compared with."""
    with database.connect() as connection:
        state = states.gate_state(connection, generation)
        active = generations.active_generation(connection)
    golden = settings.golden_set
    content = golden.read_bytes() if golden is not None and golden.is_file() else b""
    parts = [state, active and active.id, settings.gate_recall, settings.gate_max_loss]
    return hashlib.blake2b(repr(parts).encode() + content, digest_size=8).hexdigest()


def _complete(database: Database, generation: Generation) -> Check:
    deadline = time.monotonic() + _SETTLE
    while True:
        with database.connect() as connection:
            documents, chunks = generations.gaps(connection, generation)
        if (documents, chunks) == (0, 0) or time.monotonic() > deadline:
            break
        time.sleep(0.25)
    figures: dict[str, float] = {"documents_missing": documents, "chunks_missing": chunks}
    if documents or chunks:
        return Check("complete", False, f"{documents} documents and {chunks} vectors are missing", figures)
    return Check("complete", True, "every chunk has its vector", figures)


def _valid(database: Database, generation: Generation) -> Check:
    with database.connect() as connection:
        found = reports.check_generation(connection, generation)
    figures: dict[str, float] = dict(found)
    wrong = {name: count for name, count in found.items() if count and name != "vectors_refused"}
    if wrong:
        detail = ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in wrong.items())
        return Check("valid", False, detail, figures)
    refused = found.get("vectors_refused", 0)
    note = f"; {refused} rows have none because the provider refuses their text" if refused else ""
    return Check("valid", True, f"no vector is missing, zero or infinite{note}", figures)


def _model(database: Database, generation: Generation, embedder: Callable[[], Embedder]) -> Check:
    started = time.perf_counter()
    try:
        model = embedder()
        with database.connect() as connection:
            check_model(connection, generation, model)
        asked = time.perf_counter()
        vector = model.embed([CANARY_TEXT], role=Role.QUERY).vectors[0]
    except VaultlineError as error:
        return Check("model", False, str(error))
    now = time.perf_counter()
    figures = {
        "load_seconds": round(asked - started, 3),
        "question_milliseconds": round((now - asked) * 1000, 1),
    }
    if vector.shape != (generation.dimensions,):
        return Check("model", False, f"a question's vector has {vector.shape[0]} numbers", figures)
    return Check("model", True, "it answers, and as it did when the generation was begun", figures)


def _recall(database: Database, generation: Generation, settings: Settings) -> Check:
    measured = measure_recall(database, generation)
    figures: dict[str, float] = {}
    for item in measured:
        figures[f"recall@10 {item.locale}"] = item.recall
        figures[f"milliseconds {item.locale}"] = item.milliseconds
    low = [f"{item.recall:.3f} for {item.locale}" for item in measured if item.recall < settings.gate_recall]
    if low:
        return Check("recall", False, f"HNSW finds too few neighbours: recall@10 is {', '.join(low)}", figures)
    exact = sum(not item.indexed for item in measured)
    return Check(
        "recall", True, f"recall@10 holds in {len(measured)} languages, {exact} of them searched exactly", figures
    )


def _quality(database: Database, generation: Generation, against: Generation | None, settings: Settings) -> Check:
    golden = settings.golden_set
    if golden is None:
        return Check("quality", True, "not compared: GOLDEN_SET names no questions")
    from pipelines.retrieval.evaluation import LEGS, compare, evaluate
    from pipelines.retrieval.learning import calibrate
    from pipelines.retrieval.searcher import Searcher

    def ask(number: int) -> "Evaluation":
        searcher = Searcher(Database(database.url), settings)  # one a generation: each keeps its own model loaded
        try:
            if number == generation.id:  # thresholds and weights of its own first: they switch with it
                learnt = calibrate(searcher, golden, generation=number)
                with database.connect() as connection:
                    states.put_calibration(connection, number, learnt)
            return evaluate(searcher, golden, generation=number, legs=LEGS if number == generation.id else ("hybrid",))
        finally:
            searcher.close()

    try:
        after = ask(generation.id)
        before = None if against is None else ask(against.id)
    except (UsageError, EmbeddingError) as error:
        return Check("quality", False, f"could not be measured: {error}")
    figures = _figures(after)
    if before is None:
        return Check("quality", True, f"measured on {golden.name}; there is nothing to compare with", figures)
    worse = []
    for item in compare(before, after):
        if item.figure != _JUDGED:
            continue
        where = item.locale or "all"
        figures |= {f"change {where}": round(item.mean, 4), f"change {where} low": round(item.low, 4)}
        figures |= {f"change {where} high": round(item.high, 4), f"questions {where}": item.questions}
        if item.mean < -settings.gate_max_loss or item.high < 0:
            worse.append(f"{where} {item.mean:+.3f} [{item.low:+.3f}, {item.high:+.3f}]")
    if worse:
        detail = f"{_JUDGED} of the fused result on {golden.name} is lower than generation {before.generation}'s: "
        return Check("quality", False, detail + "; ".join(worse), figures)
    return Check("quality", True, f"not worse than generation {before.generation} on {golden.name}", figures)


def _figures(evaluation: "Evaluation") -> dict[str, float]:
    figures: dict[str, float] = {}
    for locale in (None, *evaluation.locales):
        summary = evaluation.summary(locale=locale)
        for name in (_JUDGED, "recall@10", "false_answers", "false_refusals", "milliseconds"):
            if name in summary:
                figures[f"{name} {locale or 'all'}"] = round(summary[name], 4)
    return figures
