"""The deterministic embedder that ships."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipelines.embedding.factory import create_embedder, create_embedder_for
from pipelines.embedding.fake import Call, FakeEmbedder
from pipelines.embedding.protocol import Role
from pipelines.errors import ModelUnavailable
from pipelines.settings import Settings

MakeSettings = Callable[..., Settings]


def test_dimensions_from_the_name(settings: MakeSettings) -> None:
    assert create_embedder("fake/demo-384", settings()).spec.dimensions == 384
    assert create_embedder("fake/demo", settings()).spec.dimensions == 64
    assert create_embedder("fake/a-b-1024", settings()).embed(["x"], role=Role.QUERY).vectors.shape == (1, 1024)


@pytest.mark.parametrize("name", ["fake/demo-3", "fake/demo-99999", "fake/-64"])
def test_names_that_make_no_sense(settings: MakeSettings, name: str) -> None:
    with pytest.raises(ModelUnavailable, match="fake/NAME-DIM"):
        create_embedder(name, settings())


def test_similar_texts_are_near(settings: MakeSettings) -> None:
    embedder = create_embedder("fake/demo-384", settings())
    query, near, far = embedder.embed(
        ["copias de seguridad", "Las copias de seguridad se hacen de noche", "The kitchen opens at noon"],
        role=Role.DOCUMENT,
    ).vectors
    assert query @ near > 0.5 > query @ far + 0.2


def test_names_are_different_spaces(settings: MakeSettings) -> None:
    one = create_embedder("fake/one-384", settings())
    other = create_embedder("fake/other-384", settings())
    assert one.spec.fingerprint != other.spec.fingerprint
    a, b = (embedder.embed(["la misma frase"], role=Role.DOCUMENT).vectors[0] for embedder in (one, other))
    assert abs(float(a @ b)) < 0.5


def test_same_vectors_in_another_process(settings: MakeSettings) -> None:
    here = create_embedder("fake/demo-16", settings()).embed(["hola"], role=Role.DOCUMENT).vectors[0]
    code = (
        "from pipelines.embedding.fake import FakeEmbedder, fake_spec\n"
        "from pipelines.embedding.protocol import Role\n"
        "print(FakeEmbedder(fake_spec('demo-16')).embed(['hola'], role=Role.DOCUMENT).vectors[0].tolist())\n"
    )
    root = Path(__file__).resolve().parents[3]
    there = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert json.loads(there.stdout) == here.tolist()


def test_asymmetric_variant_shows_a_confused_role(settings: MakeSettings) -> None:
    embedder = create_embedder("fake/asymmetric-64", settings())
    assert embedder.spec.input_type
    document = embedder.embed(["hola"], role=Role.DOCUMENT).vectors[0]
    query = embedder.embed(["hola"], role=Role.QUERY).vectors[0]
    assert float(document @ query) < 0.95
    plain = create_embedder("fake/plain-64", settings())
    assert np.array_equal(
        plain.embed(["hola"], role=Role.DOCUMENT).vectors, plain.embed(["hola"], role=Role.QUERY).vectors
    )


def test_calls_are_counted_and_logged(settings: MakeSettings, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    embedder = create_embedder("fake/demo-16", settings(embedding_fake_log=log))
    assert isinstance(embedder, FakeEmbedder)
    embedder.embed(["uno", "dos"], role=Role.DOCUMENT)
    create_embedder_for(embedder.spec, None, settings(embedding_fake_log=log)).embed(["¿uno?"], role=Role.QUERY)
    assert embedder.calls == [Call(Role.DOCUMENT, 2)]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["role"], len(line["texts"])) for line in lines] == [("document", 2), ("query", 1)]
    assert "uno" not in log.read_text()


def test_every_vector_is_a_unit_vector_whatever_the_text(settings: MakeSettings) -> None:
    embedder = create_embedder("fake/demo-8", settings())
    texts = ["a", "!!!", "日本", "🚒", "a b", "\x01x", "ñ" * 5_000, "\ud800"]
    vectors = embedder.embed(texts[:-1], role=Role.DOCUMENT).vectors
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_blank_is_refused_and_long_is_windowed(settings: MakeSettings) -> None:
    embeddings = create_embedder("fake/demo-16", settings()).embed(["", "palabra " * 300, "x"], role=Role.DOCUMENT)
    assert [index for index, _ in embeddings.refused] == [0]
    assert embeddings.windowed == (1,)
    assert create_embedder("fake/demo-16", settings()).embed([], role=Role.QUERY).vectors.shape == (0, 16)
