"""Questions -> vectors, under the model of the generation that search reads."""

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from pipelines.embedding.factory import create_embedder_for
from pipelines.embedding.protocol import Embedder, Role
from pipelines.settings import Settings
from pipelines.storage.generations import Generation


class QueryEmbedder:
    """Keeps the embedder of one generation loaded, and calls it from one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._generation: int | None = None
        self._embedder: Embedder | None = None

    def embed(self, generation: Generation, text: str) -> NDArray[np.float32]:
        """The question's vector, shape (dimensions,).

        Raises EmbeddingError where the provider or the model's files fail.
        """
        with self._lock:
            embedder = self._of(generation)
            return np.asarray(embedder.embed([text], role=Role.QUERY).vectors[0], dtype=np.float32)

    def close(self) -> None:
        """Give the model back."""
        with self._lock:
            self._drop()

    def _of(self, generation: Generation) -> Embedder:
        if self._embedder is None or self._generation != generation.id:
            self._drop()
            self._embedder = create_embedder_for(generation.model_spec, generation.address, self._settings)
            self._generation = generation.id
        return self._embedder

    def _drop(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = self._generation = None
