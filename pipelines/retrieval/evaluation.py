"""How good the answers are: every question of a golden set, asked of each leg and of both together."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.retrieval.golden import GoldenQuestion, GoldenSet, Relevant, load_golden
from pipelines.retrieval.metrics import interval, ndcg, paired, recall, reciprocal_rank
from pipelines.retrieval.passage import Passage, SearchResult

if TYPE_CHECKING:
    import pandas as pd

LEGS = ("hybrid", "vector", "text")
DEPTH = 10
RANKING = ("ndcg@10", "mrr", "recall@1", "recall@5", "recall@10")
"""Figures of questions that have an answer, of everything that was found, whether or not it was thought good enough."""


class Answers(Protocol):
    """What is evaluated: anything that searches as `Searcher` does."""

    def search(
        self, query: str, *, k: int = ..., mode: str = ..., generation: int | None = ..., always: bool = ...
    ) -> SearchResult: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question asked of one leg. `figures` is empty for questions without an answer."""

    key: str
    question: str
    locale: str | None
    leg: str
    answerable: bool
    answered: bool
    confidence: float
    seconds: float
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Outcomes of a golden set under one generation."""

    golden: str
    golden_hash: str
    generation: int
    model: str
    outcomes: tuple[Outcome, ...]

    def of(self, *, leg: str = "hybrid", locale: str | None = None) -> list[Outcome]:
        """Outcomes of one leg, of one locale or of all."""
        return [item for item in self.outcomes if item.leg == leg and locale in (None, item.locale)]

    @property
    def locales(self) -> list[str]:
        """Locales of the questions, sorted."""
        return sorted({item.locale for item in self.outcomes if item.locale})

    def summary(self, *, leg: str = "hybrid", locale: str | None = None) -> dict[str, float]:
        """Mean figures: ranking over questions with an answer, `false_answers` and `false_refusals` as rates."""
        items = self.of(leg=leg, locale=locale)
        with_answer = [item for item in items if item.answerable]
        without = [item for item in items if not item.answerable]
        figures: dict[str, float] = {"questions": len(items), "unanswerable": len(without)}
        for name in RANKING if with_answer else ():
            figures[name] = statistics.fmean(item.figures[name] for item in with_answer)
        if with_answer:
            figures["false_refusals"] = statistics.fmean(not item.answered for item in with_answer)
        if without:
            figures["false_answers"] = statistics.fmean(item.answered for item in without)
        figures["answered"] = statistics.fmean(item.answered for item in items) if items else 0.0
        figures["milliseconds"] = 1000 * statistics.median(item.seconds for item in items) if items else 0.0
        return figures

    def table(self) -> "pd.DataFrame":
        """One row a leg and locale (`all` first), means with their 95 % intervals."""
        import pandas as pd

        rows = []
        for leg in LEGS:
            for locale in (None, *self.locales):
                values = [item.figures["ndcg@10"] for item in self.of(leg=leg, locale=locale) if item.answerable]
                low, high = interval(values)
                rows.append(
                    {"leg": leg, "locale": locale or "all"}
                    | self.summary(leg=leg, locale=locale)
                    | {"ndcg@10 low": low, "ndcg@10 high": high}
                )
        return pd.DataFrame(rows).set_index(["leg", "locale"])

    def to_json(self) -> dict[str, Any]:
        """What `vaultline eval --json` prints."""
        groups = {
            leg: {locale or "all": _rounded(self.summary(leg=leg, locale=locale)) for locale in (None, *self.locales)}
            for leg in LEGS
        }
        intervals = {
            name: [_finite(edge) for edge in interval([o.figures[name] for o in self.of() if o.answerable])]
            for name in RANKING
            if any(outcome.answerable for outcome in self.of())
        }
        return {
            "golden": self.golden,
            "golden_hash": self.golden_hash,
            "generation": self.generation,
            "model": self.model,
            "legs": groups,
            "intervals": intervals,
        }

    def failures(self) -> list[Outcome]:
        """Questions that went wrong: nothing relevant first, refused though answerable, answered though not."""
        return [
            item
            for item in self.of()
            if (item.answerable and (not item.answered or item.figures["recall@5"] == 0.0))
            or (not item.answerable and item.answered)
        ]

    def outcomes_json(self) -> list[dict[str, Any]]:
        """Every outcome, for storage."""
        return [asdict(item) for item in self.outcomes]


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean change of a figure over the same questions, with its 95 % bootstrap interval."""

    figure: str
    locale: str | None
    mean: float
    low: float
    high: float
    questions: int

    def to_json(self) -> dict[str, Any]:
        """One of `since_last` of `vaultline eval --json`; an interval that one question does not have is null."""
        edges = {"low": _finite(self.low), "high": _finite(self.high)}
        return {"figure": self.figure, "locale": self.locale, "mean": self.mean} | edges


def evaluate(
    searcher: Answers, golden: Path | GoldenSet, *, generation: int | None = None, legs: Sequence[str] = LEGS
) -> Evaluation:
    """Ask every question of a golden set, of the active generation or of a live one by number.

    The questions' locale is not given to the search: finding it is part of what is measured. Raises UsageError for a
    golden set that cannot be read, and whatever the search raises.
    """
    questions = load_golden(golden) if isinstance(golden, Path) else golden
    outcomes = []
    result: SearchResult | None = None
    for item in questions.questions:
        for leg in legs:
            result = searcher.search(item.question, k=DEPTH, mode=leg, generation=generation, always=True)
            outcomes.append(_outcome(item, leg, result))
    assert result is not None
    return Evaluation(questions.name, questions.hash, result.generation, result.model, tuple(outcomes))


def compare(before: Evaluation, after: Evaluation, *, leg: str = "hybrid") -> list[Difference]:
    """How `after` differs from `before` on the questions that both were asked: overall, then by locale."""
    old = {item.key: item for item in before.of(leg=leg)}
    pairs = [(old[item.key], item) for item in after.of(leg=leg) if item.key in old]
    differences = []
    for locale in (None, *after.locales):
        chosen = [(a, b) for a, b in pairs if locale in (None, b.locale)]
        ranked = [(a, b) for a, b in chosen if a.answerable and b.answerable]
        for name in RANKING if ranked else ():
            mean, low, high = paired([a.figures[name] for a, _ in ranked], [b.figures[name] for _, b in ranked])
            differences.append(Difference(name, locale, mean, low, high, len(ranked)))
        if chosen:
            mean, low, high = paired([_right(a) for a, _ in chosen], [_right(b) for _, b in chosen])
            differences.append(Difference("rightly answered or refused", locale, mean, low, high, len(chosen)))
    return differences


def match(passages: Sequence[Passage], relevant: Sequence[Relevant]) -> list[int | None]:
    """Which answer stands at each rank, or None; each answer is taken once, where it comes first.

    Where a question names sources only, a source counts at its first passage and its other passages take no rank.
    """
    by_source = all(answer.section is None and answer.contains is None for answer in relevant)
    found: list[int | None] = []
    taken: set[int] = set()
    sources: set[str] = set()
    for passage in passages:
        if by_source and passage.source in sources:
            continue
        sources.add(passage.source)
        answer = next(
            (n for n, answer in enumerate(relevant) if n not in taken and answer.matches(passage)),
            None,
        )
        if answer is not None:
            taken.add(answer)
        found.append(answer)
    return found


def ranking_figures(passages: Sequence[Passage], relevant: Sequence[Relevant]) -> dict[str, float]:
    """The figures of RANKING for one question's results."""
    found, answers = match(passages, relevant), len(relevant)
    return {
        "ndcg@10": ndcg(found, answers, 10),
        "mrr": reciprocal_rank(found[:DEPTH]),
        "recall@1": recall(found, answers, 1),
        "recall@5": recall(found, answers, 5),
        "recall@10": recall(found, answers, 10),
    }


def _outcome(item: GoldenQuestion, leg: str, result: SearchResult) -> Outcome:
    return Outcome(
        key=item.key,
        question=item.question,
        locale=item.locale,
        leg=leg,
        answerable=item.answerable,
        answered=result.answered,
        confidence=result.confidence,
        seconds=result.seconds,
        figures=ranking_figures(result.results, item.relevant) if item.answerable else {},
    )


def _right(outcome: Outcome) -> float:
    return float(outcome.answered == outcome.answerable)


def _finite(value: float) -> float | None:
    """JSON and Postgres know no NaN."""
    return round(value, 4) if math.isfinite(value) else None


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}
