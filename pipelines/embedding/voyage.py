"""Voyage AI, by its own client."""

import base64
import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipelines.embedding.families import VOYAGE_DIMENSIONS, VOYAGE_MAX_TOKENS, VOYAGE_SIZES, VOYAGE_WINDOW
from pipelines.embedding.hosted import HostedEmbedder, Reply
from pipelines.embedding.http import Endpoint, checked_address, error_of_status, not_an_answer, unreachable
from pipelines.embedding.known_sizes import asked_size, known_dimensions, sized_revision
from pipelines.embedding.protocol import ModelSpec, Role
from pipelines.embedding.vectors import Vectors
from pipelines.errors import SettingsError
from pipelines.settings import Settings

PROVIDER = "voyage"
OWN_ADDRESS = "Voyage AI"

MAX_INPUTS = 1_000
MAX_REQUEST_TOKENS = 120_000
"""Texts and tokens of one request: the provider's published limits for voyage-3; newer models allow more."""


class VoyageTransport:
    """Requests by `voyageai.api_resources.Embedding`, the client's resource for the embeddings endpoint.

    `voyageai.Client.embed` is not used: it drops the answer's `index` fields and runs some model names locally.
    """

    max_inputs = MAX_INPUTS
    max_request_tokens = MAX_REQUEST_TOKENS

    def __init__(self, model: str, *, key: str, address: str | None, size: int | None) -> None:
        self.address = address
        self._model = model
        self._key = key
        self._size = size
        self._endpoint = Endpoint(f"{PROVIDER}/{model}", address or OWN_ADDRESS, "VOYAGE_API_KEY", (key,))

    def request(self, texts: Sequence[str], *, role: Role, timeout: float) -> Reply:
        """Embed one request's texts. Raises ProviderBusy, RequestRejected, ProviderRefused, ModelUnavailable."""
        from voyageai.api_resources import Embedding
        from voyageai.error import APIConnectionError, Timeout, VoyageError

        logging.getLogger("voyage").setLevel(logging.WARNING)  # its debug lines hold the texts
        try:
            response = Embedding.create(  # type: ignore[no-untyped-call]
                input=list(texts),
                model=self._model,
                input_type=str(role),
                truncation=False,  # a text over the window is an error that we handle, never cut in silence
                output_dimension=self._size,
                encoding_format="base64",  # decoded here: the client makes lists of Python floats of it
                api_key=self._key,
                base_url=self.address,
                request_timeout=timeout,
            )
        except (Timeout, APIConnectionError) as error:
            raise unreachable(self._endpoint, error) from None
        except VoyageError as error:
            if not error.http_status or error.http_status < 400:
                raise not_an_answer(self._endpoint, "did not answer with JSON") from None
            # `from None`: the client's error holds the answer's body, which may quote the texts.
            raise error_of_status(
                self._endpoint,
                status=error.http_status,
                headers=dict(error.headers or {}),
                body=error.http_body or "",
                texts=texts,
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise not_an_answer(self._endpoint, "did not answer with embeddings") from None
        return self._reply(response, len(texts))

    def close(self) -> None:
        """The client keeps one connection a thread and ends it with the thread."""

    def __repr__(self) -> str:
        return f"VoyageTransport({self._model})"

    def _reply(self, response: object, count: int) -> Reply:
        items = getattr(response, "data", None)
        if not isinstance(items, list) or len(items) != count:
            found = len(items) if isinstance(items, list) else "no"
            raise not_an_answer(self._endpoint, f"answered with {found} vectors for {count} texts")
        try:
            ordered = sorted(items, key=lambda item: item["index"]) if "index" in items[0] else items
            vectors = np.stack([_numbers(item["embedding"]) for item in ordered])
            usage = getattr(response, "usage", None)
            tokens = int(usage["total_tokens"]) if usage else 0
        except (TypeError, ValueError, KeyError):
            raise not_an_answer(self._endpoint, "answered with vectors that are no lists of numbers") from None
        return Reply(vectors, tokens)


def _numbers(embedding: object) -> Vectors:
    """A vector from base64 of little-endian float32, or from a list of numbers where the server prefers that."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)


def open_voyage(model: str, settings: Settings) -> HostedEmbedder:
    """The embedder of `voyage/MODEL`. Raises SettingsError without a key; asks the provider only for the dimensions
    of a model that is not known."""
    address = settings.voyage_base_url
    if address is not None:
        address = checked_address(address, setting="VOYAGE_BASE_URL", key_setting="VOYAGE_API_KEY")
    if settings.embedding_dimensions and model in VOYAGE_DIMENSIONS and not VOYAGE_SIZES.match(model):
        raise SettingsError(f"EMBEDDING_DIMENSIONS: {model} has {VOYAGE_DIMENSIONS[model]} numbers and no other size")
    spec = ModelSpec(
        provider=PROVIDER,
        model=model,
        revision=sized_revision(settings.embedding_dimensions),
        dimensions=settings.embedding_dimensions or VOYAGE_DIMENSIONS.get(model) or 0,
        max_tokens=settings.embedding_max_tokens or VOYAGE_MAX_TOKENS.get(model, VOYAGE_WINDOW),
        query_prefix=settings.embedding_query_prefix or "",
        document_prefix=settings.embedding_document_prefix or "",
        input_type=True,
        pooling="provider",
    )
    if not spec.dimensions:
        asked = known_dimensions(_transport(spec, address, settings), spec, settings)
        spec = replace(spec, dimensions=asked)
    return reopen_voyage(spec, address, settings)


def reopen_voyage(spec: ModelSpec, address: str | None, settings: Settings) -> HostedEmbedder:
    """The embedder of a stored generation, at the address it remembers; None is the provider's own."""
    return HostedEmbedder(spec, _transport(spec, address, settings), settings)


def _transport(spec: ModelSpec, address: str | None, settings: Settings) -> VoyageTransport:
    key = settings.voyage_api_key.get_secret_value() if settings.voyage_api_key else ""
    if not key:
        raise SettingsError(f"{spec.name} needs a key: set VOYAGE_API_KEY")
    return VoyageTransport(spec.model, key=key, address=address, size=asked_size(spec))
