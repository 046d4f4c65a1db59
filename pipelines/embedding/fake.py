"""A deterministic embedder for tests of logic: no weights, no network, the same vectors on every machine.

Vectors are counts of hashed words and character trigrams, so that texts which share words are near each other. That is
enough to test what is stored, compared, switched and asked; it says nothing about the quality of search.

`fake/NAME-DIM` has DIM numbers, 64 where DIM is not given. NAME seeds the space: vectors of two names are not
comparable. A NAME with `asymmetric` in it embeds questions and passages differently, to show a confused role.
"""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipelines.embedding.protocol import Embeddings, ModelSpec, Role
from pipelines.embedding.vectors import BLANK, empty_embeddings, is_blank, normalized, validated
from pipelines.errors import ModelUnavailable

PROVIDER = "fake"
MAX_TOKENS = 256
BATCH = 64
ROLE_WEIGHT = 0.5

WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Call:
    """One `embed` of the fake: in which role, and how many texts."""

    role: Role
    texts: int


class FakeEmbedder:
    """See the module. `calls` remembers what was asked; with `log` every call is also a JSON line in that file,
    `{"model", "role", "texts": [hash, ...]}`, for tests over several processes."""

    address = None

    def __init__(self, spec: ModelSpec, *, log: Path | None = None) -> None:
        self._spec = spec
        self._log = log
        self.calls: list[Call] = []

    @property
    def spec(self) -> ModelSpec:
        """Everything that changes a vector of this fake."""
        return self._spec

    def embed(self, texts: Sequence[str], *, role: Role) -> Embeddings:
        """Embed texts; blank ones are refused as a hosted provider would."""
        if not texts:
            return empty_embeddings(self.spec)
        self._note(texts, role)
        vectors = np.zeros((len(texts), self.spec.dimensions), dtype=np.float32)
        refused = []
        for row, text in enumerate(texts):
            if is_blank(text):
                refused.append((row, BLANK))
            else:
                vectors[row] = self._vector(text, role)
        tokens = np.asarray(self.count_tokens(texts), dtype=np.int64)
        windowed = tuple(np.flatnonzero(tokens > self.spec.max_tokens).tolist())
        return validated(
            Embeddings(normalized(vectors), tokens, windowed, (), tuple(refused)), self.spec, texts=len(texts)
        )

    def embed_batches(self, texts: Sequence[str], *, role: Role) -> Iterator[tuple[list[int], Embeddings]]:
        """Embed in batches of 64 texts, each with the indices of its texts."""
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            yield list(range(start, start + len(batch))), self.embed(batch, role=role)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Two special tokens, and one for every six characters of a word or for a sign."""
        return [2 + sum(-(-len(word) // 6) for word in WORD.findall(text)) for text in texts]

    def close(self) -> None:
        """There is nothing to give back."""

    def _vector(self, text: str, role: Role) -> NDArray[np.float32]:
        vector: NDArray[np.float64] = np.zeros(self.spec.dimensions, dtype=np.float64)
        folded = "".join(
            letter for letter in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(letter)
        )
        words = WORD.findall(folded)
        trigrams = [word[start : start + 3] for word in words for start in range(max(0, len(word) - 3))]
        for feature in words or [text]:
            self._add(vector, f"w:{feature}", 1.0)
        for feature in trigrams:
            self._add(vector, f"t:{feature}", 0.3)
        if not vector.any():  # features can cancel each other
            self._add(vector, f"x:{text}", 1.0)
        vector /= np.linalg.norm(vector)
        if self.spec.input_type:
            self._add(vector, f"role:{role}", ROLE_WEIGHT)
        return vector.astype(np.float32)

    def _add(self, vector: NDArray[np.float64], feature: str, weight: float) -> None:
        place, sign = _hashed(self.spec.model, feature)
        vector[place % len(vector)] += sign * weight

    def _note(self, texts: Sequence[str], role: Role) -> None:
        self.calls.append(Call(role, len(texts)))
        if self._log is not None:
            hashes = [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
            line = json.dumps({"model": self.spec.name, "role": str(role), "texts": hashes}) + "\n"
            handle = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(handle, line.encode())  # one write: lines of two processes do not mix
            finally:
                os.close(handle)


@lru_cache(maxsize=100_000)
def _hashed(space: str, feature: str) -> tuple[int, int]:
    """(place, sign) of a feature in the space of this name."""
    seed = hashlib.blake2b(space.encode(), digest_size=16).digest()
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=9, key=seed).digest()
    return int.from_bytes(digest[:8], "little"), 1 if digest[8] & 1 else -1


def fake_spec(model: str) -> ModelSpec:
    """The spec of `fake/MODEL`. Raises ModelUnavailable for a name without a usable number of dimensions."""
    name, _, dimensions = model.rpartition("-")
    if not dimensions.isdecimal():
        name, dimensions = model, "64"
    if not name or not 8 <= int(dimensions) <= 4000:
        raise ModelUnavailable(f"fake/{model}: write fake/NAME-DIM with DIM from 8 to 4000, as in fake/demo-64")
    return ModelSpec(
        provider=PROVIDER,
        model=model,
        revision="1",
        dimensions=int(dimensions),
        max_tokens=MAX_TOKENS,
        input_type="asymmetric" in name,
        pooling="hash",
    )
