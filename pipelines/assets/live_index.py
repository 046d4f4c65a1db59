"""live_index: what search reads. Activates the first complete generation and keeps the store tidy."""

import dagster as dg

from pipelines.assets.knowledge import knowledge
from pipelines.assets.stage import DEFAULTS, stage
from pipelines.assets.upkeep import resolve_changed_links, tidy
from pipelines.generations.lifecycle import activate_first
from pipelines.resources.store import Store


@dg.asset(
    deps=[knowledge],
    kinds={"postgres"},
    code_version="1",
    description="The generation that search reads, and the view `knowledge` on it.",
    **DEFAULTS,
)
def live_index(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> None:
    with stage(context, store, "live_index", figures=("activated", "links", "purged")) as work:
        resolve_changed_links(store, work)
        generation = activate_first(store.database)
        if generation is not None:
            work.count(None, activated=1)
            context.log.info(f"generation {generation.id} ({generation.model}) is active")
        tidy(store, work)
