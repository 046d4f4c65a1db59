"""Questions -> vectors, under the model of the generation that search reads."""

from collections.abc import Callable, Collection
from threading import Lock, Thread

import numpy as np
from numpy.typing import NDArray

from pipelines.embedding.canary import CANARY_TEXT
from pipelines.embedding.factory import create_embedder_for
from pipelines.embedding.protocol import Embedder, Role
from pipelines.errors import ProviderUnavailable, VaultlineError
from pipelines.retrieval.meaning import TYPICAL, Meaning
from pipelines.settings import Settings
from pipelines.storage.generations import Generation

_KEPT = 2
"""Models kept loaded: the one that serves, and the one that is about to, or did before a rollback."""


class QueryEmbedder:
    """Keeps the embedders of the last two generations loaded, and calls each from one thread at a time.

    The first one is loaded when it is asked. Another one is loaded in the background, when a switch is announced or at
    the latest when it has happened: until then questions are answered by words alone, and nobody waits.
    """

    def __init__(self, settings: Settings, *, check: Callable[[Generation, Embedder], None] | None = None) -> None:
        """`check` is asked about every model that was loaded, before its first question."""
        self._settings = settings
        self._check = check
        self._lock = Lock()
        self._loaded: dict[int, _Loaded] = {}  # the one used last at the end
        self._loading: dict[int, Thread] = {}

    def embed(self, generation: Generation, text: str, *, common: Collection[str] = (), wait: bool = True) -> Meaning:
        """The question's vector, and what questions in the languages `common` have in common.

        Raises EmbeddingError where the provider or the model's files fail; and ProviderUnavailable, unless `wait`,
        while the model is being loaded beside another one.
        """
        loaded = self._ready(generation, wait=wait)
        with loaded.lock:
            means = {language: loaded.common(language) for language in common if language in TYPICAL}
            return Meaning(
                np.asarray(loaded.embedder.embed([text], role=Role.QUERY).vectors[0], dtype=np.float32), means
            )

    def prepare(self, generation: Generation) -> None:
        """Load a generation's model in the background, unless it is loaded or being loaded."""
        with self._lock:
            self._start(generation)

    def close(self) -> None:
        """Give the models back."""
        for thread in list(self._loading.values()):
            thread.join()
        with self._lock:
            for loaded in self._loaded.values():
                loaded.close()
            self._loaded.clear()

    def _ready(self, generation: Generation, *, wait: bool) -> "_Loaded":
        with self._lock:
            if (found := self._loaded.pop(generation.id, None)) is not None:
                self._loaded[generation.id] = found
                return found
            if not wait and self._loaded:
                self._start(generation)
                raise ProviderUnavailable(f"{generation.model} (generation {generation.id}) is being loaded")
            thread = self._loading.get(generation.id)
        if thread is not None:
            thread.join()
        loaded = self._loaded.get(generation.id)
        return loaded if loaded is not None else self._load(generation)

    def _start(self, generation: Generation) -> None:
        if generation.id not in self._loaded and generation.id not in self._loading:
            thread = Thread(target=self._load_aside, args=(generation,), name=f"load-{generation.id}", daemon=True)
            self._loading[generation.id] = thread
            thread.start()

    def _load_aside(self, generation: Generation) -> None:
        try:
            self._load(generation, warm=True)
        except VaultlineError:
            pass  # the next question asks again, and says why it is answered by words alone
        finally:
            with self._lock:
                self._loading.pop(generation.id, None)

    def _load(self, generation: Generation, *, warm: bool = False) -> "_Loaded":
        embedder = create_embedder_for(generation.model_spec, generation.address, self._settings)
        if self._check is not None:
            self._check(generation, embedder)
        if warm:  # models load at their first text
            embedder.embed([CANARY_TEXT], role=Role.QUERY)
        loaded = _Loaded(embedder)
        with self._lock:
            if (other := self._loaded.get(generation.id)) is not None:
                loaded.close()
                return other
            self._loaded[generation.id] = loaded
            while len(self._loaded) > _KEPT:
                oldest = next(iter(self._loaded))
                self._loaded.pop(oldest).close()
        return loaded


class _Loaded:
    """An embedder and the lock that keeps it to one thread."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.lock = Lock()
        self._common: dict[str, NDArray[np.float32]] = {}

    def common(self, language: str) -> NDArray[np.float32]:
        """Mean vector of a language's typical questions, under the lock."""
        if language not in self._common:
            vectors = self.embedder.embed(list(TYPICAL[language]), role=Role.QUERY).vectors
            self._common[language] = np.asarray(vectors, dtype=np.float32).mean(axis=0)
        return self._common[language]

    def close(self) -> None:
        with self.lock:  # whoever is at it may finish
            self.embedder.close()
