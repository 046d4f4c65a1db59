"""From a name or a stored row to an embedder, and what belongs to a model's identity."""

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from pipelines.embedding.factory import create_embedder, create_embedder_for, split_model
from pipelines.embedding.fake import fake_spec
from pipelines.embedding.families import family_of
from pipelines.errors import ModelChanged, SettingsError
from pipelines.settings import Settings

MakeSettings = Callable[..., Settings]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", ("sentence-transformers", "all-MiniLM-L6-v2")),
        ("sentence-transformers/intfloat/e5-small", ("sentence-transformers", "intfloat/e5-small")),
        ("sentence-transformers//srv/models/own", ("sentence-transformers", "/srv/models/own")),
        (" voyage/voyage-3 ", ("voyage", "voyage-3")),
        ("openai/text-embedding-3-small", ("openai", "text-embedding-3-small")),
        ("fake/demo-64", ("fake", "demo-64")),
    ],
)
def test_names(text: str, parts: tuple[str, str]) -> None:
    assert split_model(text) == parts


@pytest.mark.parametrize("text", ["", "voyage-3", "voyage/", "cohere/embed-v4", "/x"])
def test_names_that_are_not_understood(settings: MakeSettings, text: str) -> None:
    with pytest.raises(SettingsError, match="sentence-transformers, voyage, openai, fake"):
        create_embedder(text, settings())


def test_everything_in_the_spec_changes_the_fingerprint() -> None:
    """B05 (e): a prefix, the pooling or the normalisation makes another space."""
    spec = fake_spec("demo-64")
    prints = {spec.fingerprint}
    for field in fields(spec):
        value = getattr(spec, field.name)
        other = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"
        prints.add(replace(spec, **{field.name: other}).fingerprint)
    assert len(prints) == 1 + len(fields(spec))


def test_generation_of_an_unknown_provider(settings: MakeSettings) -> None:
    with pytest.raises(SettingsError, match="cohere"):
        create_embedder_for(replace(fake_spec("demo-64"), provider="cohere"), None, settings())


def test_generation_of_an_older_fake(settings: MakeSettings) -> None:
    with pytest.raises(ModelChanged):
        create_embedder_for(replace(fake_spec("demo-64"), revision="0"), None, settings())


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("intfloat/multilingual-e5-large", "query: "),
        ("e5-mistral-7b-instruct", "Instruct: "),
        ("nomic-embed-text:latest", "search_query: "),
        ("BAAI/bge-base-en-v1.5", "Represent"),
        ("bge-m3", ""),
        ("text-embedding-3-large", ""),
        ("something-else5", ""),
    ],
)
def test_families(model: str, query: str) -> None:
    prefix = family_of(model).query_prefix
    assert prefix.startswith(query)
    assert bool(prefix) == bool(query)
