"""The embedder of models behind an address: batches, workers, retries, and finding the text that is refused."""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Protocol

import numpy as np

from pipelines.embedding.canary import CANARY_TEXT
from pipelines.embedding.http import RequestRejected
from pipelines.embedding.known_sizes import forget_dimensions
from pipelines.embedding.pieces import Outcome, Piece, assemble, joined, nothing, shares
from pipelines.embedding.protocol import Embeddings, ModelSpec, Role
from pipelines.embedding.retrying import Pace, Stopped, with_patience
from pipelines.embedding.token_estimate import estimate_tokens, halves, split_by_estimate
from pipelines.embedding.vectors import Vectors, cut_texts, empty_embeddings, is_blank, normalized, validated
from pipelines.errors import EmbeddingError
from pipelines.settings import Settings

PING_PATIENCE = 10.0
MARGIN = 1.1
FEW = 8  # texts: from fewer nothing is learned about how the provider counts tokens
SHORTEST = 200
"""Characters: a text this short that is still too long for the provider is refused, not cut further."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Vectors of one request in the order of its texts, shape (texts, dimensions), and the tokens it was billed for,
    0 where the server does not say."""

    vectors: Vectors
    tokens: int


class Transport(Protocol):
    """One provider's way of asking. Safe to call from several threads."""

    @property
    def address(self) -> str | None: ...

    @property
    def max_inputs(self) -> int: ...

    @property
    def max_request_tokens(self) -> int: ...

    def request(self, texts: Sequence[str], *, role: Role, timeout: float) -> Reply:
        """Raises ProviderBusy, RequestRejected, ProviderRefused, ModelUnavailable, InvalidVectors."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Done:
    """What one worker brings back: texts that are finished and, perhaps, the error that ended its work."""

    owners: list[int]
    embeddings: Embeddings
    failure: EmbeddingError | None


class HostedEmbedder:
    """Texts -> vectors by requests of bounded size, several at once.

    Long texts are sent in windows. A request that the provider rejects is halved until the text that it will never
    accept stands alone; that one is reported in `refused` and the others are embedded. Keys live in the transport.
    """

    def __init__(self, spec: ModelSpec, transport: Transport, settings: Settings) -> None:
        self._spec = spec
        self._transport = transport
        self._settings = settings
        self._pace = Pace(requests=settings.embedding_requests_per_minute, tokens=settings.embedding_tokens_per_minute)
        self._max_inputs = min(transport.max_inputs, settings.embedding_max_inputs or transport.max_inputs)
        self._tokens_a_guess: float | None = None  # billed tokens for one estimated: the most that was seen
        self._answered = False

    @property
    def spec(self) -> ModelSpec:
        """Everything that changes a vector of this model."""
        return self._spec

    @property
    def address(self) -> str | None:
        """Base URL, or None for the provider's own."""
        return self._transport.address

    def embed(self, texts: Sequence[str], *, role: Role) -> Embeddings:
        """Embed texts. Raises ProviderUnavailable, ProviderRefused, ModelUnavailable, InvalidVectors."""
        if not texts:
            return empty_embeddings(self.spec)
        vectors = np.zeros((len(texts), self.spec.dimensions), dtype=np.float32)
        tokens = np.zeros(len(texts), dtype=np.int64)
        marks: dict[str, list[int]] = {"windowed": [], "truncated": []}
        refused: list[tuple[int, str]] = []
        for indices, batch in self.embed_batches(texts, role=role):
            vectors[indices] = batch.vectors
            tokens[indices] = batch.tokens
            marks["windowed"] += [indices[index] for index in batch.windowed]
            marks["truncated"] += [indices[index] for index in batch.truncated]
            refused += [(indices[index], reason) for index, reason in batch.refused]
        return Embeddings(
            vectors, tokens, tuple(sorted(marks["windowed"])), tuple(sorted(marks["truncated"])), tuple(sorted(refused))
        )

    def embed_batches(self, texts: Sequence[str], *, role: Role) -> Iterator[tuple[list[int], Embeddings]]:
        """Yield (indices, embeddings) as requests end, in any order.

        When one fails, those in flight are waited for and yielded first: they are paid for.
        """
        blank = [index for index, text in enumerate(texts) if is_blank(text)]
        if blank:
            yield blank, nothing(len(blank), self.spec)
        units = self._units(texts, role, skip=set(blank))
        workers = self._settings.embedding_concurrency
        failure: EmbeddingError | None = None
        running: set[Future[_Done]] = set()
        stop = Event()
        with ThreadPoolExecutor(workers, thread_name_prefix="embedding") as pool:
            try:
                while True:
                    # One request more than there are workers is ready: nobody waits for it to be planned.
                    while failure is None and len(running) <= workers and (unit := next(units, None)):
                        running.add(pool.submit(self._embed_unit, unit, role, stop))
                    if not running:
                        break
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        finished = future.result()
                        if finished.owners:
                            yield finished.owners, finished.embeddings
                        if finished.failure is not None and (failure is None or isinstance(failure, Stopped)):
                            failure = finished.failure
            finally:
                stop.set()  # also when the caller leaves early: Ctrl-C must not wait for a retry
        if failure is not None:
            raise failure

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """A safe over-estimate of the tokens of each text as a document, its prefix included."""
        return [estimate_tokens(self.spec.document_prefix + text) for text in texts]

    def ping(self) -> None:
        """Embed the canary once. Raises the error that a run would meet: wrong key, unknown model, nobody there."""
        text = self._prefix(Role.DOCUMENT) + CANARY_TEXT
        self._ask([text], Role.DOCUMENT, tokens=0, patience=PING_PATIENCE, stop=Event())

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"HostedEmbedder({self.spec.name} at {self.address or 'its own address'})"

    def _prefix(self, role: Role) -> str:
        return self.spec.query_prefix if role is Role.QUERY else self.spec.document_prefix

    def _units(self, texts: Sequence[str], role: Role, *, skip: set[int]) -> Iterator[list[Piece]]:
        """Pieces of whole texts for one request each; a text with more windows than a request holds is alone."""
        prefix = self._prefix(role)
        limit = max(self.spec.max_tokens - (estimate_tokens(prefix) if prefix else 0), 16)
        unit: list[Piece] = []
        size = 0
        for index, text in enumerate(texts):
            if index in skip:
                continue
            parts = [part for part in split_by_estimate(text, limit=limit) if not is_blank(part)]
            pieces = [Piece(index, prefix + part, estimate_tokens(prefix + part)) for part in parts]
            more = sum(piece.tokens for piece in pieces)
            if unit and not self._fits(len(unit) + len(pieces), size + more):
                yield unit
                unit, size = [], 0
            unit += pieces
            size += more
        if unit:
            yield unit

    def _fits(self, inputs: int, tokens: int) -> bool:
        expected = tokens if self._tokens_a_guess is None else tokens * self._tokens_a_guess * MARGIN
        return inputs <= self._max_inputs and expected <= self._transport.max_request_tokens

    def _embed_unit(self, unit: list[Piece], role: Role, stop: Event) -> _Done:
        outcomes: list[Outcome] = []
        request: list[Piece] = []
        size = 0
        for piece in unit:
            if request and not self._fits(len(request) + 1, size + piece.tokens):
                outcomes += self._embed_pieces(request, role, stop)
                request, size = [], 0
            request.append(piece)
            size += piece.tokens
        outcomes += self._embed_pieces(request, role, stop)
        failures = (outcome.failure for outcome in outcomes if outcome.failure is not None)
        return _Done(*assemble(unit, outcomes, self.spec), failure=next(failures, None))

    def _embed_pieces(self, pieces: list[Piece], role: Role, stop: Event) -> list[Outcome]:
        """Ask for the pieces; halve what is rejected, first the request, then a text that is too long by itself."""
        try:
            reply = self._ask([piece.text for piece in pieces], role, tokens=sum(p.tokens for p in pieces), stop=stop)
        except RequestRejected as rejected:
            if not self._answered:
                # Is it these texts, or every request? Without this, each of a thousand texts would be refused.
                try:
                    self._ask([CANARY_TEXT], role, tokens=0, stop=stop)
                except EmbeddingError as error:
                    return _failed(pieces, error, stop)
            if len(pieces) == 1:
                return [self._embed_hard_text(pieces[0], role, rejected, stop)]
            middle = len(pieces) // 2
            if rejected.inputs:
                self._max_inputs = min(self._max_inputs, max(1, middle))
            return self._embed_pieces(pieces[:middle], role, stop) + self._embed_pieces(pieces[middle:], role, stop)
        except EmbeddingError as error:
            return _failed(pieces, error, stop)
        cut = cut_texts([piece.text for piece in pieces], tokens=reply.tokens)
        share = shares(pieces, reply.tokens)
        return [
            Outcome(vector=vector, tokens=tokens, cut=index in cut)
            for index, (vector, tokens) in enumerate(zip(reply.vectors, share, strict=True))
        ]

    def _embed_hard_text(self, piece: Piece, role: Role, rejected: RequestRejected, stop: Event) -> Outcome:
        """One text that was rejected alone: in two windows where it is too long, else refused for good."""
        prefix = self._prefix(role)
        text = piece.text.removeprefix(prefix)
        if not rejected.size or len(text) < SHORTEST:
            return Outcome(reason=rejected.reason)
        parts = [Piece(0, prefix + half, estimate_tokens(prefix + half)) for half in halves(text) if not is_blank(half)]
        outcomes = [outcome for part in parts for outcome in self._embed_pieces([part], role, stop)]
        return joined(outcomes)

    def _ask(self, texts: list[str], role: Role, *, tokens: int, stop: Event, patience: float | None = None) -> Reply:
        timeout = self._settings.embedding_timeout_seconds
        if role is Role.QUERY:
            timeout = min(timeout, max(10.0, self._settings.embedding_query_patience_seconds))
        reply = with_patience(
            lambda: self._transport.request(texts, role=role, timeout=timeout),
            pace=self._pace,
            tokens=tokens,
            patience=self._patience(role) if patience is None else patience,
            stop=stop,
        )
        counts = np.full(len(texts), tokens, dtype=np.int64)
        if reply.vectors.shape[1] != self.spec.dimensions:
            forget_dimensions(self.spec, self.address, self._settings)  # the next start asks, and sees the new model
        validated(Embeddings(reply.vectors, counts), self.spec, texts=len(texts))
        self._answered = True
        if reply.tokens > 0 and len(texts) >= FEW:
            self._tokens_a_guess = max(reply.tokens / tokens, self._tokens_a_guess or 0.0)
        return Reply(normalized(reply.vectors), reply.tokens)

    def _patience(self, role: Role) -> float:
        if role is Role.QUERY:
            return self._settings.embedding_query_patience_seconds
        return self._settings.embedding_patience_seconds


def _failed(pieces: list[Piece], error: EmbeddingError, stop: Event) -> list[Outcome]:
    """End the run: requests that are under way end, nobody waits to try again, and what is done is handed over."""
    stop.set()
    return [Outcome(failure=error) for _ in pieces]


def check(embedder: object) -> None:
    """Ask a hosted provider once, before any work: raises one clear error for a wrong key, an unknown model or nobody
    there. Local models were checked when they were opened."""
    ping = getattr(embedder, "ping", None)
    if ping is not None:
        ping()
