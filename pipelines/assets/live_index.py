"""live_index: what search reads. Promotes the wanted generation when it passes the gate, and keeps the store tidy."""

import dagster as dg
from pydantic import Field

from pipelines.assets.knowledge import knowledge
from pipelines.assets.stage import GROUP, OWNERS, stage
from pipelines.assets.upkeep import resolve_changed_links, tidy
from pipelines.figures import Work
from pipelines.generations import gate, promotion
from pipelines.generations.gate import Verdict
from pipelines.generations.promotion import Promotion
from pipelines.partitions import ONE_RUN
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.storage import generations
from pipelines.storage.index_build import build_indexes

LIVE_INDEX = dg.AssetKey("live_index")

_QUESTIONS = {
    "complete": "Every current chunk has its vector in the generation that is to be promoted.",
    "valid": "None of its vectors is missing, zero or infinite; its rows are the chunks.",
    "model": "Its model answers, and as it did when the generation was begun.",
    "recall": "HNSW finds what exact search finds: recall@10 per language.",
    "quality": "On the golden set, what people get is not worse than from the active generation.",
}


class PromotionConfig(dg.Config):
    """Which generation to promote; 0 is the wanted one, if it is complete and not held back."""

    generation: int = Field(default=0, ge=0)
    override: str = Field(default="", description="The reason to switch although the gate does not pass; recorded.")


@dg.asset(
    deps=[knowledge],
    backfill_policy=ONE_RUN,  # without it, Dagster's commands refuse a range of folders for `*`
    kinds={"postgres"},
    code_version="1",
    check_specs=[
        dg.AssetCheckSpec(f"gate_{name}", asset=LIVE_INDEX, description=_QUESTIONS[name], blocking=True)
        for name in gate.CHECKS
    ],
    description="The generation that search reads, and the view `knowledge` on it.",
    group_name=GROUP,
    owners=OWNERS,
)
def live_index(
    context: dg.AssetExecutionContext,
    config: PromotionConfig,
    store: dg.ResourceParam[Store],
    embedder: EmbedderResource,
) -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster does not understand the argument
    figures = ("activated", "links", "purged", "retired", "freed_bytes")
    with stage(context, store, "live_index", figures=figures) as work:
        resolve_changed_links(store, work)
        outcome = _promote(context, config, store, embedder, work)
        _keep_indexed(context, store)
        _retire(context, store, embedder, work)
        tidy(store, work)
    asked = config.generation > 0
    return dg.MaterializeResult(check_results=[_result(name, outcome, asked=asked) for name in gate.CHECKS])


def _promote(
    context: dg.AssetExecutionContext,
    config: PromotionConfig,
    store: Store,
    embedder: EmbedderResource,
    work: Work,
) -> Promotion | Verdict | None:
    database, settings = store.database, store.settings
    if config.generation:
        outcome: Promotion | Verdict | None = promotion.try_promote(
            database, settings, config.generation, override=config.override or None, by="dagster"
        )
    else:
        outcome = promotion.promote_due(database, settings, embedder.wanted(settings).spec.fingerprint)
    if isinstance(outcome, Promotion):
        work.count(None, activated=1)
        entered, switch = outcome.switch.entered, outcome.switch
        work.extra |= {"switch_milliseconds": round(switch.seconds * 1000, 2), "switch_attempts": switch.attempts}
        context.log.info(f"generation {entered.id} ({entered.model}) is active")
    elif isinstance(outcome, Verdict):
        context.log.warning(f"generation {outcome.generation} is not promoted: {outcome.reasons}")
    return outcome


def _keep_indexed(context: dg.AssetExecutionContext, store: Store) -> None:
    """Generations grow: a language that has become large gets its HNSW index, without keeping a writer waiting."""
    with store.database.connect() as connection:
        live = generations.live_generations(connection)
    for generation in live:
        if generation.state != "building" and (built := build_indexes(store.database, generation, store.settings)):
            context.log.info(f"generation {generation.id}: built {', '.join(built)}")


def _retire(context: dg.AssetExecutionContext, store: Store, embedder: EmbedderResource, work: Work) -> None:
    fingerprint = embedder.wanted(store.settings).spec.fingerprint
    for retired in promotion.retire_due(store.database, store.settings, fingerprint):
        generation = retired.generation
        work.count(None, retired=1, freed_bytes=retired.bytes)
        context.log.info(
            f"generation {generation.id} ({generation.model}) is retired: {retired.bytes / 1e6:.1f} MB are free again"
        )


def _result(name: str, outcome: Promotion | Verdict | None, *, asked: bool) -> dg.AssetCheckResult:
    """A check's answer. Only who asked for a promotion by name is failed by it: an edit's run has done its work."""
    verdict = outcome.verdict if isinstance(outcome, Promotion) else outcome
    check = next((check for check in verdict.checks if check.name == name), None) if verdict is not None else None
    if verdict is None or check is None:
        reason = "nothing was to be promoted" if verdict is None else "not asked: an earlier check did not pass"
        return dg.AssetCheckResult(
            check_name=f"gate_{name}", passed=verdict is None, severity=dg.AssetCheckSeverity.WARN, description=reason
        )
    overridden = isinstance(outcome, Promotion) and outcome.overridden
    severe = asked and not overridden
    return dg.AssetCheckResult(
        check_name=f"gate_{name}",
        passed=check.passed,
        severity=dg.AssetCheckSeverity.ERROR if severe else dg.AssetCheckSeverity.WARN,
        description=check.detail + (" (overridden)" if overridden and not check.passed else ""),
        metadata={"generation": verdict.generation, **check.figures},
    )
