"""Evaluations that are kept, so that the next one can be compared with the last."""

from dataclasses import dataclass

from pipelines.retrieval.evaluation import Difference, Evaluation, Outcome, compare
from pipelines.storage import unanswered as storage
from pipelines.storage.database import Database


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
    if stored is None:
        return None
    return Evaluation(
        golden=stored.golden,
        golden_hash=stored.golden_hash,
        generation=stored.generation_id,
        model=stored.model,
        outcomes=tuple(Outcome(**outcome) for outcome in stored.questions),
    )
