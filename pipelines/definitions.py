"""Dagster's front door: `dagster ... -m pipelines.definitions`."""

import dagster as dg

from pipelines.assets.chunks import chunks
from pipelines.assets.embeddings import embeddings
from pipelines.assets.knowledge import knowledge
from pipelines.assets.live_index import live_index
from pipelines.assets.parsed_text import parsed_text
from pipelines.assets.raw_files import raw_files
from pipelines.checks import CHECKS
from pipelines.errors import VaultlineError
from pipelines.generation_jobs import PROMOTE, REINDEX, RETIRE, ROLLBACK
from pipelines.jobs import FETCH, INDEX
from pipelines.resources.embedder import EmbedderResource
from pipelines.resources.store import Store
from pipelines.schedules import SCHEDULES
from pipelines.sensors.finish import finish
from pipelines.sensors.git import git_sensor
from pipelines.sensors.vault import vault
from pipelines.settings import Settings, current
from pipelines.upkeep_job import UPKEEP


def build(settings: Settings, *, store: Store | None = None) -> dg.Definitions:
    """The whole pipeline under some settings. Nothing is connected, started or loaded until a run needs it.

    `store` is one that is open already, for runs in this process.
    """
    return dg.Definitions(
        assets=[raw_files, parsed_text, chunks, *_of_model(settings, embeddings, knowledge), live_index],
        asset_checks=CHECKS,
        jobs=[INDEX, FETCH, REINDEX, PROMOTE, ROLLBACK, RETIRE, UPKEEP],
        schedules=SCHEDULES,
        sensors=[finish, vault, git_sensor(settings)],
        resources={"store": store or Store(settings), "embedder": EmbedderResource(model=settings.embedding_model)},
        executor=dg.in_process_executor,
    )


def _of_model(settings: Settings, *assets: dg.AssetsDefinition) -> list[dg.AssetsDefinition]:
    """The assets with the wanted model's fingerprint in their code version: another model makes them stale."""
    from pipelines.embedding.cache import cached_embedder

    try:
        model = cached_embedder(settings.embedding_model, settings).spec.fingerprint
    except VaultlineError:  # no files, no key, no answer: a run says so, loading the definitions must not
        model = settings.embedding_model
    return [
        asset.map_asset_specs(lambda spec: spec.replace_attributes(code_version=f"{spec.code_version}-{model}"))
        for asset in assets
    ]


defs = build(current())
