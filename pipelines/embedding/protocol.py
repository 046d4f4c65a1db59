"""The seam between the pipeline and an embedding model."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy costs 0.1 s, which a command with nothing to embed can spare
    import numpy as np
    from numpy.typing import NDArray


class Role(StrEnum):
    """What a text is for. Asymmetric models embed questions and passages differently; confusing them costs recall."""

    DOCUMENT = "document"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Everything that changes a vector. Two specs with one fingerprint give comparable vectors.

    The runtime that computes the vectors (torch, OpenVINO) is not part of it: runtimes must agree to cosine >= 0.9999.
    `revision` is the weights' sha256 where they are local, else the provider's revision or an empty string.
    `max_tokens` counts what one text may hold, special tokens included; longer texts are embedded by windows.
    """

    provider: str
    model: str
    revision: str
    dimensions: int
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""
    input_type: bool = False
    pooling: str = "mean"
    normalize: bool = True

    @property
    def name(self) -> str:
        """`provider/model`, as `EMBEDDING_MODEL` writes it."""
        return f"{self.provider}/{self.model}"

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal characters that identify the vector space."""
        canonical = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors of a batch of texts, in the order of the texts.

    `vectors` has shape (texts, dimensions), float32, unit length where the spec says so, finite and non-zero.
    `tokens` has shape (texts,): tokens the model read, special tokens included. `windowed` holds indices of texts
    longer than the model's window, whose vector is the mean over windows. `truncated` holds indices of texts of
    which the model did not see the end. `refused` maps indices of texts the provider will never accept to its
    reason; their rows in `vectors` are zero and must not be stored.
    """

    vectors: "NDArray[np.float32]"
    tokens: "NDArray[np.int64]"
    windowed: tuple[int, ...] = ()
    truncated: tuple[int, ...] = ()
    refused: tuple[tuple[int, str], ...] = ()


class Embedder(Protocol):
    """A loaded model, or a client of a hosted one. Safe to call from one thread at a time."""

    @property
    def spec(self) -> ModelSpec: ...

    @property
    def address(self) -> str | None:
        """Base URL of a hosted provider, None for a local model. Never holds a key."""
        ...

    def embed(self, texts: Sequence[str], *, role: Role) -> Embeddings:
        """Embed texts.

        Raises ProviderUnavailable (transient), ProviderRefused, ModelUnavailable, InvalidVectors.
        """
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens the model would read, special tokens included; a safe over-estimate where there is no tokenizer."""
        ...

    def close(self) -> None:
        """Give back threads, connections and memory."""
        ...
