"""Dagster's front door: `dagster ... -m pipelines.definitions`."""

import dagster as dg

from pipelines.assets.chunks import chunks
from pipelines.assets.embeddings import embeddings
from pipelines.assets.knowledge import knowledge
from pipelines.assets.live_index import live_index
from pipelines.assets.parsed_text import parsed_text
from pipelines.assets.raw_files import raw_files
from pipelines.checks import CHECKS
from pipelines.jobs import INDEX
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.settings import Settings, current


def build(settings: Settings, *, store: Store | None = None) -> dg.Definitions:
    """The whole pipeline under some settings. Nothing is connected, started or loaded until a run needs it.

    `store` is one that is open already, for runs in this process.
    """
    return dg.Definitions(
        assets=[raw_files, parsed_text, chunks, embeddings, knowledge, live_index],
        asset_checks=CHECKS,
        jobs=[INDEX],
        resources={"store": store or Store(settings), "embedder": EmbedderResource(model=settings.embedding_model)},
        executor=dg.in_process_executor,
    )


defs = build(current())
