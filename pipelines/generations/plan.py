"""What a migration would take, before anything is spent: texts, tokens, money, minutes, disk."""

import time
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.embedding.prices import AS_OF, price_per_million
from pipelines.embedding.protocol import Embedder, Role
from pipelines.settings import Settings
from pipelines.storage import generation_states as states
from pipelines.storage import generations
from pipelines.storage.database import Database
from pipelines.storage.knowledge_index import HALFVEC_DIMENSIONS, VECTOR_DIMENSIONS

_COUNTED = 2_000
"""Texts whose tokens are counted; the rest is extrapolated from the chunker's own counts."""

_SAMPLE_SECONDS = 10.0
_SAMPLE = 64  # texts a batch of the measurement

_PAGE = 8192
_HNSW_LINKS = 300
"""Bytes of a node's links and headers with m = 16. A node stands on one page: of 1,024 numbers, one fits on a page."""

_STORED = 1.35
"""Bytes of a stored vector over those of its numbers: larger ones stand in slices (docs/migration.md)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An estimate. `cached` texts have a vector already; `tokens` are of those that have not.

    `cost_usd` and `price` (dollars per million tokens) are None where the price is not known. `minutes` is None unless
    a sample was measured or an earlier run tells. `table_bytes` and `cache_bytes` are what the database grows by.
    """

    model: str
    dimensions: int
    fingerprint: str
    state: str
    serving: str | None
    documents: int
    chunks: int
    texts: int
    cached: int
    tokens: int
    price: float | None
    cost_usd: float | None
    minutes: float | None
    measured: bool
    table_bytes: int
    cache_bytes: int
    max_cost: float | None
    max_tokens: int | None

    def to_json(self) -> dict[str, Any]:
        """What `generation plan --json` prints."""
        return asdict(self)

    def to_text(self) -> str:
        """The same for people."""
        if self.price is None:
            money = "price not known: set EMBEDDING_PRICES"
        elif self.price == 0:
            money = "nothing: the model runs on this machine"
        else:
            money = f"${self.cost_usd:.4f} at ${self.price:g} for a million tokens (prices of {AS_OF}: check them)"
        time_needed = "not measured: add --measure" if self.minutes is None else f"about {self.minutes:.1f} minutes"
        lines = [
            f"model       {self.model} ({self.dimensions} numbers), {self.state}",
            f"serving     {self.serving or 'nothing yet'}",
            f"documents   {self.documents}, {self.chunks} chunks, {self.texts} different texts",
            f"to embed    {self.texts - self.cached} texts, about {self.tokens:,} tokens; {self.cached} have a vector",
            f"cost        {money}",
            f"time        {time_needed}",
            f"disk        {(self.table_bytes + self.cache_bytes) / 1e6:.1f} MB more, of which the vector cache "
            f"{self.cache_bytes / 1e6:.1f} MB",
        ]
        if self.exceeds:
            lines.append(f"caps        a run stops before the end: {self.exceeds}")
        return "\n".join(lines)

    @property
    def exceeds(self) -> str | None:
        """Which cap a single run would reach, in words."""
        if self.max_cost is not None and self.cost_usd is not None and self.cost_usd > self.max_cost:
            return f"EMBEDDING_MAX_COST is ${self.max_cost:g}"
        if self.max_tokens is not None and self.tokens > self.max_tokens:
            return f"EMBEDDING_MAX_RUN_TOKENS is {self.max_tokens:,}"
        return None


def plan(database: Database, settings: Settings, embedder: Embedder, *, measure: bool = False) -> Plan:
    """Estimate the migration to a model. Calls no provider unless `measure`: then a few texts are embedded, and kept by
    nobody. Raises as `Embedder.embed` where it measures."""
    spec = embedder.spec
    with database.connect() as connection:
        totals = states.plan_totals(connection, spec.fingerprint)
        sample = states.plan_sample(connection, spec.fingerprint, limit=_COUNTED)
        live = generations.live_generations(connection)
    ours = next((item for item in live if item.fingerprint == spec.fingerprint), None)
    serving = next((item for item in live if item.state == "active"), None)
    texts = [text for text, _ in sample]
    counted = sum(embedder.count_tokens(texts)) if texts else 0
    share = totals["chunker_tokens"] / max(1, sum(tokens for _, tokens in sample))
    tokens = round(counted * share)
    rate = _measure(embedder, texts) if measure and texts else None
    price = price_per_million(spec.name, settings)
    missing = totals["texts"] - totals["cached"]
    vector_bytes = round(_STORED * (4 * spec.dimensions + 8))
    return Plan(
        model=spec.name,
        dimensions=spec.dimensions,
        fingerprint=spec.fingerprint,
        state=_state(ours.state if ours is not None else None),
        serving=None if serving is None else f"generation {serving.id} ({serving.model})",
        documents=totals["documents"],
        chunks=totals["chunks"],
        texts=totals["texts"],
        cached=totals["cached"],
        tokens=tokens,
        price=price,
        cost_usd=None if price is None else round(tokens * price / 1e6, 6),
        minutes=None if rate is None else round(tokens / rate / 60, 2),
        measured=rate is not None,
        table_bytes=0 if ours is not None else _table_bytes(totals, spec.dimensions, vector_bytes),
        cache_bytes=missing * (vector_bytes + 120),
        max_cost=settings.embedding_max_cost,
        max_tokens=settings.embedding_max_run_tokens,
    )


def _table_bytes(totals: dict[str, int], dimensions: int, vector_bytes: int) -> int:
    """Text twice (the row and its lexemes), and the vector in the row and in the HNSW index."""
    return 2 * totals["text_bytes"] + totals["chunks"] * (vector_bytes + hnsw_bytes(dimensions))


def hnsw_bytes(dimensions: int) -> int:
    """Bytes that a vector takes in an HNSW index: whole nodes on pages of 8 KB, as halfvec from 2,000 numbers on."""
    if dimensions > HALFVEC_DIMENSIONS:
        return 0
    node = (4 if dimensions <= VECTOR_DIMENSIONS else 2) * dimensions + _HNSW_LINKS
    return _PAGE // max(1, _PAGE // node)


def _measure(embedder: Embedder, texts: list[str]) -> float:
    """Tokens a second over texts spread over the vault; the first batch only wakes the model up."""
    embedder.embed(texts[:4], role=Role.DOCUMENT)
    tokens, started = 0, time.monotonic()
    for start in range(0, len(texts), _SAMPLE):
        tokens += int(embedder.embed(texts[start : start + _SAMPLE], role=Role.DOCUMENT).tokens.sum())
        if time.monotonic() - started > _SAMPLE_SECONDS:
            break
    return tokens / max(1e-6, time.monotonic() - started)


def _state(state: str | None) -> str:
    return {None: "not begun", "active": "it serves already", "previous": "complete beside the active one"}.get(
        state, str(state)
    )
