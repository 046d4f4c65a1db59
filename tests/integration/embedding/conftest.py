"""Servers and settings of the tests of hosted providers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.settings import Settings
from tests.servers.embedding_api import EmbeddingApi

VOYAGE_KEY = "pa-test-key"


@pytest.fixture
def voyage_api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi(flavour="voyage", key=VOYAGE_KEY).running() as api:
        yield api


@pytest.fixture
def openai_api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi(flavour="openai", key=None, dimensions=64).running() as api:
        yield api


@pytest.fixture
def voyage_settings(voyage_api: EmbeddingApi, tmp_path: Path) -> Callable[..., Settings]:
    """Settings that point at the local Voyage; anything may be overridden."""

    def make(**overrides: object) -> Settings:
        defaults = {"voyage_base_url": voyage_api.url, "voyage_api_key": VOYAGE_KEY, "embedding_patience_seconds": 20}
        return Settings.load(_env_file=None, vaultline_home=tmp_path, **{**defaults, **overrides})

    return make


@pytest.fixture
def openai_settings(openai_api: EmbeddingApi, tmp_path: Path) -> Callable[..., Settings]:
    """Settings that point at the local OpenAI-compatible server; anything may be overridden."""

    def make(**overrides: object) -> Settings:
        defaults = {"embedding_base_url": openai_api.url, "embedding_patience_seconds": 20}
        return Settings.load(_env_file=None, vaultline_home=tmp_path, **{**defaults, **overrides})

    return make
