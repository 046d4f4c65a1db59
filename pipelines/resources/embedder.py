"""The embedding model as a Dagster resource: swap it by EMBEDDING_MODEL."""

import dagster as dg

from pipelines.embedding.cache import cached_embedder, cached_embedder_for
from pipelines.embedding.prices import FREE
from pipelines.embedding.protocol import Embedder
from pipelines.settings import Settings
from pipelines.storage.generations import Generation

_SOON = 5.0  # seconds


class EmbedderResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """`model` is `provider/model`, as EMBEDDING_MODEL names it; keys stay in the environment."""

    model: str

    def wanted(self, settings: Settings) -> Embedder:
        """The embedder that the settings name. Loaded models are kept for the process's life."""
        return cached_embedder(self.model, settings)

    def of(self, generation: Generation, settings: Settings, *, patient: bool = True) -> Embedder:
        """The embedder of a stored generation, with the prefixes and address that its row remembers.

        Not `patient`: a hosted one that does not answer fails soon, because more urgent work waits behind it.
        """
        if not patient and generation.model_spec.provider not in FREE:
            soon = min(settings.embedding_patience_seconds, _SOON)
            settings = settings.model_copy(update={"embedding_patience_seconds": soon})
        return cached_embedder_for(generation.model_spec, generation.address, settings)
