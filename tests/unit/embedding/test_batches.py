"""Every batch handed over at once, from the calling thread."""

import threading
from collections.abc import Callable, Sequence

import pytest

from pipelines.embedding.batches import embed_in_batches
from pipelines.embedding.factory import create_embedder
from pipelines.embedding.fake import FakeEmbedder, fake_spec
from pipelines.embedding.protocol import Embeddings, ModelSpec, Role
from pipelines.settings import Settings


class Plain:
    """An embedder that has only what the protocol asks for."""

    address = None

    def __init__(self) -> None:
        self._fake = FakeEmbedder(fake_spec("plain-16"))

    @property
    def spec(self) -> ModelSpec:
        return self._fake.spec

    def embed(self, texts: Sequence[str], *, role: Role) -> Embeddings:
        return self._fake.embed(texts, role=role)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._fake.count_tokens(texts)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("count", [0, 1, 64, 300])
@pytest.mark.parametrize("kind", ["fake", "plain"])
def test_every_index_once(settings: Callable[..., Settings], kind: str, count: int) -> None:
    embedder = create_embedder("fake/plain-16", settings()) if kind == "fake" else Plain()
    texts = [f"texto {number}" for number in range(count)]
    whole = embedder.embed(texts, role=Role.DOCUMENT).vectors
    seen: list[int] = []

    def keep(indices: list[int], embeddings: Embeddings) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert (embeddings.vectors == whole[indices]).all()
        seen.extend(indices)

    embed_in_batches(embedder, texts, role=Role.DOCUMENT, on_batch=keep)
    assert sorted(seen) == list(range(count))


def test_error_of_the_caller_ends_it(settings: Callable[..., Settings]) -> None:
    embedder = create_embedder("fake/demo-16", settings())
    calls = []

    def keep(indices: list[int], embeddings: Embeddings) -> None:
        calls.append(indices)
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        embed_in_batches(embedder, ["x"] * 500, role=Role.DOCUMENT, on_batch=keep)
    assert len(calls) == 1
