"""Evaluations that are kept, so that the next one can be compared with the last."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipelines.retrieval.evaluation import Difference, Evaluation, Outcome, compare, evaluate
from pipelines.retrieval.golden import load_golden
from pipelines.retrieval.searcher import Searcher
from pipelines.settings import Settings
from pipelines.storage import unanswered as storage
from pipelines.storage.database import Database

_BAR = 40
"""Characters of a full bar."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stored evaluation and how it differs from the one before it (empty where there was none)."""

    number: int
    before: Evaluation | None
    differences: tuple[Difference, ...]


def record(database: Database, evaluation: Evaluation) -> Recorded:
    """Store an evaluation and compare it with the last one of the same golden set, question by question."""
    before = last(database, evaluation.golden)
    with database.connect() as connection:
        number = storage.put_evaluation(
            connection,
            golden=evaluation.golden,
            golden_hash=evaluation.golden_hash,
            generation=evaluation.generation,
            model=evaluation.model,
            figures=evaluation.to_json(),
            questions=evaluation.outcomes_json(),
        )
    differences = () if before is None else tuple(compare(before, evaluation))
    return Recorded(number, before, differences)


def last(database: Database, golden: str, *, generation: int | None = None) -> Evaluation | None:
    """The last stored evaluation of a golden set (by name), of one generation or of any."""
    with database.connect() as connection:
        stored = storage.last_evaluation(connection, golden, generation=generation)
    return None if stored is None else _evaluation(stored)


def recent(database: Database, golden: Path, *, generation: int, within: timedelta) -> Evaluation | None:
    """The last evaluation of one generation on these very questions, if it is not older than `within`."""
    questions = load_golden(golden)
    with database.connect() as connection:
        stored = storage.last_evaluation(connection, questions.name, generation=generation)
    if stored is None or stored.golden_hash != questions.hash or datetime.now(UTC) - stored.measured_at > within:
        return None
    return _evaluation(stored)


def _evaluation(stored: storage.StoredEvaluation) -> Evaluation:
    return Evaluation(
        golden=stored.golden,
        golden_hash=stored.golden_hash,
        generation=stored.generation_id,
        model=stored.model,
        outcomes=tuple(Outcome(**outcome) for outcome in stored.questions),
    )


def measure(database: Database, settings: Settings, golden: Path) -> tuple[Evaluation, Recorded]:
    """Evaluate the active generation, and keep it. Raises what `evaluate` raises."""
    searcher = Searcher(Database(database.url), settings)
    try:
        evaluation = evaluate(searcher, golden)
    finally:
        searcher.close()
    return evaluation, record(database, evaluation)


def plot(evaluation: Evaluation) -> str:
    """nDCG@10 by leg and language as bars with their intervals, in Markdown, for Dagster's metadata."""
    lines = ["| leg | language | nDCG@10 | | 95 % | false refusals | false answers |", "|---|---|---|---|---|---|---|"]
    for row in evaluation.table().reset_index().to_dict("records"):
        if "ndcg@10" not in row or not math.isfinite(row["ndcg@10"]):
            continue
        bar = "█" * round(_BAR * row["ndcg@10"])
        edges = f"{row['ndcg@10 low']:.3f}-{row['ndcg@10 high']:.3f}" if math.isfinite(row["ndcg@10 low"]) else ""
        rates = [_percent(row.get(name)) for name in ("false_refusals", "false_answers")]
        cells = [row["leg"], row["locale"], f"{row['ndcg@10']:.3f}", f"`{bar:<{_BAR}}`", edges, *rates]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _percent(rate: float | None) -> str:
    return "" if rate is None or not math.isfinite(rate) else f"{rate:.0%}"
