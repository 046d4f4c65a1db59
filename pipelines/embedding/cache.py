"""Loaded embedders of this process, by what they are: a run, a watch and a server load each model once."""

from dataclasses import replace
from threading import Lock

from pipelines.embedding.factory import create_embedder, create_embedder_for
from pipelines.embedding.prices import FREE
from pipelines.embedding.protocol import Embedder, ModelSpec
from pipelines.settings import Settings

_lock = Lock()
_by_name: dict[tuple[str, Settings], Embedder] = {}
_by_spec: dict[tuple[ModelSpec, str | None, Settings], Embedder] = {}


def cached_embedder(model: str, settings: Settings) -> Embedder:
    """`factory.create_embedder`, once a process for the same model and settings."""
    with _lock:
        key = (model, settings)
        if key not in _by_name:
            embedder = _of_revision(create_embedder(model, settings), settings)
            _by_name[key] = embedder
            _by_spec.setdefault((embedder.spec, embedder.address, settings), embedder)
        return _by_name[key]


def cached_embedder_for(spec: ModelSpec, address: str | None, settings: Settings) -> Embedder:
    """`factory.create_embedder_for`, once a process for the same spec, address and settings."""
    with _lock:
        key = (spec, address, settings)
        if key not in _by_spec:
            _by_spec[key] = create_embedder_for(spec, address, settings)
        return _by_spec[key]


def _of_revision(embedder: Embedder, settings: Settings) -> Embedder:
    """A hosted model under the name that EMBEDDING_REVISION gives its present state: another name, another space."""
    if settings.embedding_revision is None or embedder.spec.provider in FREE:
        return embedder
    spec = replace(embedder.spec, revision=f"{embedder.spec.revision}@{settings.embedding_revision}")
    return create_embedder_for(spec, embedder.address, settings)
