"""Loading what is slow to load while something else is being done."""

import contextlib
from threading import Thread

from pipelines.errors import VaultlineError
from pipelines.parsing import locale
from pipelines.settings import Settings


def load_models(settings: Settings) -> None:
    """Load the embedding model, if it runs on this machine, and the one that tells languages apart.

    Says nothing of what fails: whoever needs the model does.
    """
    from pipelines.embedding.cache import cached_embedder
    from pipelines.embedding.local import PROVIDER
    from pipelines.embedding.protocol import Role

    with contextlib.suppress(VaultlineError):
        locale.load_identifier(settings.parse_detect_languages)
        embedder = cached_embedder(settings.embedding_model, settings)
        if embedder.spec.provider == PROVIDER:  # a hosted one has nothing to load, and takes money
            embedder.embed(["warm"], role=Role.QUERY)


def load_models_beside(settings: Settings) -> None:
    """The same in a thread, for a process that imports Dagster meanwhile: decompression and compilation release the
    interpreter's lock. Not a daemon thread: native code must not be cut off when the interpreter ends."""
    Thread(target=load_models, args=(settings,), name="warm-up").start()
