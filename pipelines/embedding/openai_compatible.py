"""Servers that speak OpenAI's embeddings API: OpenAI, Ollama, vLLM, LM Studio, text-embeddings-inference and the like.

Plain HTTP, because many of them differ from OpenAI where its client does not expect it: they ignore the encoding that
was asked for, answer out of order, want no key, or serve the path with or without `/v1`.
"""

import re
import weakref
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.embedding.families import family_of
from pipelines.embedding.hosted import HostedEmbedder, Reply
from pipelines.embedding.http import (
    Endpoint,
    checked_address,
    error_of_status,
    not_an_answer,
    unreachable,
)
from pipelines.embedding.known_sizes import asked_size, known_dimensions, sized_revision
from pipelines.embedding.protocol import ModelSpec, Role
from pipelines.errors import SettingsError
from pipelines.settings import Settings

if TYPE_CHECKING:
    import httpx

PROVIDER = "openai"
OWN_ADDRESS = "https://api.openai.com/v1"

MAX_INPUTS = 128
MAX_REQUEST_TOKENS = 60_000
"""Texts and tokens of one request. OpenAI allows 2,048 and 300,000; a server on a desktop would run out of time."""


class OpenAiTransport:
    """Requests to `{address}/embeddings`, with `/v1` where the address does not end with a version."""

    max_inputs = MAX_INPUTS
    max_request_tokens = MAX_REQUEST_TOKENS

    def __init__(self, model: str, *, key: str, address: str, size: int | None) -> None:
        self.address = address
        self._model = model
        self._key = key
        self._size = size
        self._endpoint = Endpoint(f"{PROVIDER}/{model}", address, "EMBEDDING_API_KEY", (key,))
        self._urls = _urls(address)

    def request(self, texts: Sequence[str], *, role: Role, timeout: float) -> Reply:
        """Embed one request's texts. Raises ProviderBusy, RequestRejected, ProviderRefused, ModelUnavailable."""
        from httpx import HTTPError

        body: dict[str, object] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._size is not None:
            body["dimensions"] = self._size
        urls = self._urls
        for url in urls:
            try:
                response = self._client.post(url, json=body, timeout=timeout)
            except HTTPError as error:
                raise unreachable(self._endpoint, error) from None
            if response.status_code == 404 and url != urls[-1]:
                continue
            if response.status_code == 200:
                self._urls = (url,)
            break
        if response.status_code != 200:
            raise error_of_status(
                self._endpoint,
                status=response.status_code,
                headers=response.headers,
                body=response.text,
                texts=texts,
            )
        return self._reply(response, len(texts))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __repr__(self) -> str:
        return f"OpenAiTransport({self._model} at {self.address})"

    @cached_property
    def _client(self) -> "httpx.Client":
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        client = httpx.Client(headers=headers)
        weakref.finalize(self, client.close)  # an embedder that is dropped leaves no connection open
        return client

    def _reply(self, response: "httpx.Response", count: int) -> Reply:
        try:
            answer: Any = response.json()
            items = answer["data"]
            usage = answer.get("usage") or {}
            tokens = int(usage.get("prompt_tokens") or usage.get("total_tokens") or 0)
            if len(items) != count:
                raise not_an_answer(self._endpoint, f"answered with {len(items)} vectors for {count} texts")
            rows = [item["embedding"] for item in _in_order(items)]
            vectors = np.asarray(rows, dtype=np.float32)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise not_an_answer(self._endpoint, "did not answer with a list of float vectors") from None
        if vectors.ndim != 2:
            raise not_an_answer(self._endpoint, "did not answer with one vector of numbers a text")
        return Reply(vectors, tokens)


def open_openai(model: str, settings: Settings) -> HostedEmbedder:
    """The embedder of `openai/MODEL`; its dimensions are asked once and remembered.

    Raises SettingsError without an address and a key, and what a first request meets: ModelUnavailable,
    ProviderRefused, ProviderUnavailable.
    """
    if settings.embedding_base_url is None and settings.embedding_api_key is None:
        raise SettingsError(
            f"openai/{model}: set EMBEDDING_BASE_URL to a server such as http://localhost:11434/v1, "
            "or EMBEDDING_API_KEY for OpenAI's own"
        )
    address = checked_address(
        settings.embedding_base_url or OWN_ADDRESS, setting="EMBEDDING_BASE_URL", key_setting="EMBEDDING_API_KEY"
    )
    family = family_of(model)
    query, document = settings.embedding_query_prefix, settings.embedding_document_prefix
    spec = ModelSpec(
        provider=PROVIDER,
        model=model,
        revision=sized_revision(settings.embedding_dimensions),
        dimensions=settings.embedding_dimensions or 0,
        max_tokens=settings.embedding_max_tokens or family.max_tokens or 512,
        query_prefix=family.query_prefix if query is None else query,
        document_prefix=family.document_prefix if document is None else document,
        pooling="provider",
    )
    if not spec.dimensions:
        spec = replace(spec, dimensions=known_dimensions(_transport(spec, address, settings), spec, settings))
    return reopen_openai(spec, address, settings)


def reopen_openai(spec: ModelSpec, address: str | None, settings: Settings) -> HostedEmbedder:
    """The embedder of a stored generation, at the address it remembers."""
    return HostedEmbedder(spec, _transport(spec, address or OWN_ADDRESS, settings), settings)


def _transport(spec: ModelSpec, address: str, settings: Settings) -> OpenAiTransport:
    key = settings.embedding_api_key.get_secret_value() if settings.embedding_api_key else ""
    return OpenAiTransport(spec.model, key=key, address=address, size=asked_size(spec))


def _urls(address: str) -> tuple[str, ...]:
    """Where to ask, in order: people write the address with and without the version, or the whole path."""
    if address.endswith("/embeddings"):
        return (address,)
    if re.search(r"/v\d+\w*$", address):
        return (f"{address}/embeddings",)
    return (f"{address}/v1/embeddings", f"{address}/embeddings")


def _in_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By `index` where every item has one of its own; some servers write 0 everywhere."""
    indices = {item.get("index") for item in items}
    return sorted(items, key=lambda item: int(item["index"])) if indices == set(range(len(items))) else items
