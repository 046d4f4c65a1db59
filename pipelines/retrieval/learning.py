"""A golden set -> a calibration: the weight of each leg, and the threshold of an answer, for one generation."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipelines.retrieval.calibration import ANY, Calibration, Trust
from pipelines.retrieval.evaluation import match
from pipelines.retrieval.evidence import FIGURES, evidence
from pipelines.retrieval.fusion import Scored, spread
from pipelines.retrieval.golden import GoldenQuestion, GoldenSet, load_golden
from pipelines.retrieval.metrics import ndcg
from pipelines.retrieval.passage import Passage
from pipelines.retrieval.question import Question, ask
from pipelines.retrieval.ranking import rank
from pipelines.retrieval.searcher import Found
from pipelines.settings import Settings

WEIGHTS = tuple(step / 20 for step in range(21))
FEWEST_ANSWERABLE = 20
FEWEST_UNANSWERABLE = 5
"""Questions of a language from which something is learnt about it; otherwise the defaults stay."""

PULL = 0.05
"""How strongly a weight is held to its default: what moving it by 1 must gain in nDCG to be believed."""

RIDGE = 0.006
"""Regularisation of the logistic, towards the default's coefficients, per question: the best of seven by tenfold
cross-validation of the golden sets (docs/retrieval.md)."""


class Considers(Protocol):
    """What is calibrated: a `Searcher`."""

    settings: Settings

    def consider(self, question: Question, *, generation: int | None = ..., everything: bool = ...) -> Found: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A golden question with everything both legs found for it."""

    golden: GoldenQuestion
    question: Question
    found: Found


def calibrate(searcher: Considers, golden: Path | GoldenSet, *, generation: int | None = None) -> dict[str, Any]:
    """Learn a generation's calibration, as `generation.calibration` stores it.

    Weights maximise nDCG@10 and are held to the model's default; thresholds make the rates of false answers and of
    false refusals equal. Languages with too few questions share what all questions teach.
    """
    questions = load_golden(golden) if isinstance(golden, Path) else golden
    cases = []
    for item in questions.questions:
        question = ask(item.question, most=searcher.settings.search_max_characters)
        cases.append(Case(item, question, searcher.consider(question, generation=generation, everything=True)))
    default = Calibration.default(cases[0].found.generation.model)
    learnt = {ANY: learn(cases, default.of(None), searcher.settings)}
    for language in sorted({case.found.gathered.language for case in cases if case.found.gathered.language}):
        own = [case for case in cases if case.found.gathered.language == language]
        prior = default.of(language) if language in default.languages else learnt[ANY]
        learnt[language] = learn(own, prior, searcher.settings)
    stored = Calibration(learnt).to_json()
    return stored | {"golden": questions.name, "golden_hash": questions.hash, "questions": len(cases)}


def learn(cases: Sequence[Case], prior: Trust, settings: Settings) -> Trust:
    """What these questions teach about a language; the prior where they are too few."""
    answerable = [case for case in cases if case.golden.answerable]
    without = [case for case in cases if not case.golden.answerable]
    if len(answerable) < FEWEST_ANSWERABLE:
        return prior
    trust = replace(prior, weight=_best_weight(answerable, prior, settings))
    if len(without) < FEWEST_UNANSWERABLE:
        return trust
    return _threshold(cases, trust, settings)


def _best_weight(cases: Sequence[Case], prior: Trust, settings: Settings) -> float:
    def gain(weight: float) -> float:
        trust = replace(prior, weight=weight)
        mean = statistics.fmean(_ndcg(case, trust, settings) for case in cases)
        return mean - PULL * abs(weight - prior.weight)

    gains = [gain(weight) for weight in WEIGHTS]
    # The mean over neighbours: a single weight that happens to suit a few questions does not win.
    smooth = [statistics.fmean(gains[max(0, n - 1) : n + 2]) for n in range(len(gains))]
    return WEIGHTS[int(np.argmax(smooth))]


def _ndcg(case: Case, trust: Trust, settings: Settings) -> float:
    ranked = spread(_rank(case, trust, settings), k=30, per_document=settings.search_per_document)
    passages = _passages(case)
    found = match([passages[item.candidate.id] for item in ranked], case.golden.relevant)
    return ndcg(found, len(case.golden.relevant), 10)


def _rank(case: Case, trust: Trust, settings: Settings) -> list[Scored]:
    return rank(case.found.gathered, case.question, trust, settings)


def _passages(case: Case) -> dict[int, Passage]:
    return {item.candidate.id: passage for item, passage in zip(case.found.ranked, case.found.passages, strict=True)}


def _threshold(cases: Sequence[Case], trust: Trust, settings: Settings) -> Trust:
    rows, answers = [], []
    for case in cases:
        seen = evidence(_rank(case, trust, settings), case.found.gathered, worded=case.found.gathered.worded)
        if seen is not None and len(seen) == len(FIGURES):
            rows.append([seen[name] for name in FIGURES])
            answers.append(case.golden.answerable)
    features, wanted = np.asarray(rows, dtype=float), np.asarray(answers, dtype=bool)
    if wanted.all() or not wanted.any():
        return trust
    prior = np.asarray([trust.bias, *(trust.factors.get(name, 0.0) for name in FIGURES)])
    weights = fit_logistic(features, wanted, prior=prior)
    values = weights[0] + features @ weights[1:]
    usual = np.median(features[wanted], axis=0)
    return replace(
        trust,
        bias=round(float(weights[0] - balanced_threshold(values, wanted)), 4),
        factors={name: round(float(weight), 4) for name, weight in zip(FIGURES, weights[1:], strict=True)},
        usual={name: round(float(value), 4) for name, value in zip(FIGURES, usual, strict=True)},
    )


def fit_logistic(
    features: NDArray[np.float64], wanted: NDArray[np.bool_], *, prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic regression by Newton's method, both classes weighing the same, held to `prior`; intercept first.

    `features` has shape (questions, n), `wanted` (questions,), `prior` and the result (n + 1,). Coefficients that the
    prior knows the sign of keep it: more similarity never speaks against an answer.
    """
    count = len(wanted)
    design = np.c_[np.ones(count), features]
    share = np.where(wanted, 0.5 / wanted.sum(), 0.5 / (~wanted).sum()) * count
    ridge = np.full(len(prior), RIDGE * count)
    ridge[0] = 1e-6
    weights = prior.astype(float).copy()
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -60, 60)))
        gradient = design.T @ (share * (chance - wanted)) + ridge * (weights - prior)
        hessian = (design.T * (share * chance * (1 - chance))) @ design + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        weights -= np.clip(step, -5, 5)
        if np.abs(step).max() < 1e-9:
            break
    signs = np.sign(prior)
    weights[1:] = np.where(signs[1:] * weights[1:] < 0, 0.0, weights[1:])
    return weights


def balanced_threshold(values: NDArray[np.float64], wanted: NDArray[np.bool_]) -> float:
    """Where to cut so that the larger of both error rates is smallest: the middle of all cuts that are equally good."""
    edges = np.sort(values)
    cuts = np.r_[edges[0] - 1, (edges[1:] + edges[:-1]) / 2, edges[-1] + 1]
    worst = np.asarray([max(np.mean(values[wanted] < cut), np.mean(values[~wanted] >= cut)) for cut in cuts])
    return float(np.median(cuts[worst <= worst.min() + 1e-12]))
