"""Asset checks: the truth about coverage and consistency, which Dagster cannot tell for partitioned assets."""

from datetime import timedelta

import dagster as dg

from pipelines.assets.knowledge import knowledge
from pipelines.assets.live_index import live_index
from pipelines.assets.parsed_text import parsed_text
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.storage import documents, generations, reports

_SHOWN = 20
_MEASURED_EVERY = timedelta(hours=6)
"""Hundreds of questions take seconds: no save waits for them."""


@dg.asset_check(asset=parsed_text, description="No document is in quarantine.")
def no_quarantine(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    with store.database.connect() as connection:
        failed = documents.quarantined(connection)
    records = [
        dg.TableRecord({"source": row["source"], "stage": row["stage"], "reason": row["reason"]})
        for row in failed[:_SHOWN]
    ]
    metadata = {"documents": dg.MetadataValue.int(len(failed))}
    if records:
        return dg.AssetCheckResult(
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{len(failed)} documents could not be processed; their last good versions keep serving",
            metadata={**metadata, "quarantine": dg.MetadataValue.table(records)},
        )
    return dg.AssetCheckResult(passed=True, metadata=metadata)


@dg.asset_check(asset=knowledge, description="Every document is in the index in its present version.")
def complete_coverage(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    recipe = store.recipe
    with store.database.connect() as connection:
        pending = reports.pending_folders(
            connection, parsers=recipe.parsers, chunker=recipe.chunker, describer=recipe.describer
        )
        states = reports.count_states(connection)
    return dg.AssetCheckResult(
        passed=not pending,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{sum(pending.values())} documents wait in {len(pending)} folders" if pending else None,
        metadata={**states, "pending by folder": dg.MetadataValue.json(pending)},
    )


@dg.asset_check(
    asset=live_index,
    description="The active generation's rows are the chunks: no vector missing, zero or infinite, no orphan, no gap.",
)
def consistent_index(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    with store.database.connect() as connection:
        active = generations.active_generation(connection)
        if active is None:
            return dg.AssetCheckResult(
                passed=False, severity=dg.AssetCheckSeverity.WARN, description="no generation is complete yet"
            )
        found = reports.check_generation(connection, active)
    wrong = {name: count for name, count in found.items() if count and name != "vectors_refused"}
    return dg.AssetCheckResult(
        passed=not wrong,
        description=", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in wrong.items()) or None,
        metadata={"generation": active.id, "model": active.model, **found},
    )


@dg.asset_check(asset=live_index, description="Search reads the model that EMBEDDING_MODEL names.")
def wanted_model(store: dg.ResourceParam[Store], embedder: EmbedderResource) -> dg.AssetCheckResult:
    wanted = embedder.wanted(store.settings).spec
    with store.database.connect() as connection:
        active = generations.active_generation(connection)
        known = reports.generation_report(connection)
    serving = active.model if active is not None else "none"
    records = [dg.TableRecord({name: row[name] for name in ("id", "model", "state", "missing")}) for row in known]
    is_wanted = active is not None and active.fingerprint == wanted.fingerprint
    other = "" if serving != wanted.name else " made under other options, such as a prefix or another revision,"
    return dg.AssetCheckResult(
        passed=is_wanted,
        severity=dg.AssetCheckSeverity.WARN,
        description=None if is_wanted else f"search reads {serving}{other} until {wanted.name} is built and promoted",
        metadata={
            "wanted": wanted.name,
            "serving": serving,
            **({"generations": dg.MetadataValue.table(records)} if records else {}),
        },
    )


@dg.asset_check(
    asset=live_index,
    description="Search answers GOLDEN_SET no worse than at the last time. Measured at most every six hours.",
)
def good_answers(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    golden = store.settings.golden_set
    if golden is None:
        return dg.AssetCheckResult(passed=True, description="GOLDEN_SET names no questions: nothing is measured")
    with store.database.connect() as connection:
        active = generations.active_generation(connection)
    if active is None:
        return dg.AssetCheckResult(passed=True, description="no generation is complete yet")
    from pipelines.retrieval import history

    measured = history.recent(store.database, golden, generation=active.id, within=_MEASURED_EVERY)
    worse: list[str] = []
    if measured is None:
        measured, recorded = history.measure(store.database, store.settings, golden)
        worse = [
            f"{item.figure} of {item.locale or 'all'} {item.mean:+.3f} [{item.low:+.3f}, {item.high:+.3f}]"
            for item in recorded.differences
            if item.high < 0 and item.figure in ("ndcg@10", "rightly answered or refused")
        ]
    figures = {name: float(value) for name, value in measured.summary().items()}
    return dg.AssetCheckResult(
        passed=not worse,
        severity=dg.AssetCheckSeverity.WARN,
        description="worse than at the last time: " + "; ".join(worse) if worse else None,
        metadata={**figures, "generation": active.id, "plot": dg.MetadataValue.md(history.plot(measured))},
    )


CHECKS = [no_quarantine, complete_coverage, consistent_index, wanted_model, good_answers]
