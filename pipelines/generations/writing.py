"""Writing the live generations: vectors for what has none, rows for what is not published."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.embedding.batches import embed_in_batches
from pipelines.embedding.prices import FREE, price_per_million
from pipelines.embedding.protocol import Embedder, Embeddings, Role
from pipelines.errors import VaultlineError
from pipelines.figures import Work
from pipelines.generations.budget import Budget
from pipelines.generations.scope import Scope, Target, publishing_order, targets
from pipelines.model_identity import check_model
from pipelines.settings import Settings
from pipelines.storage import generation_states as states
from pipelines.storage import generations, vectors
from pipelines.storage.database import Connection, Database, retry_conflicts
from pipelines.storage.generations import Generation
from pipelines.storage.vectors import TextToEmbed

EmbedderOf = Callable[[Target], Embedder]

_LOOK_AHEAD = 20_000
_CLAIM = 1_024
"""Texts claimed at a time: of a local model a few seconds' work, which other workers wait for at the end."""

_CLAIM_OF_HOSTED = 8_192
"""The same where requests overlap: every claim ends with its last request, while other doors are idle."""

_CLAIM_OF_SLICE = 128
"""The same where a run may only last so long: it looks at the clock between two claims."""

_PUBLISHED_AT_ONCE = 64  # documents a transaction
_SOMEBODY_ELSE = 0.2  # seconds until we look again at texts that another worker has claimed
LEAVE_ALONE = 600.0
"""Seconds that edits do not wait again for a provider that just failed and does not serve search."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """One generation's share of a run.

    `price`: dollars per million tokens, None: not known. `deadline`: when to stop, on the monotonic clock.
    """

    connection: Connection
    target: Target
    embedder: Embedder
    budget: Budget
    price: float | None
    run: str
    deadline: float | None = None

    @property
    def generation(self) -> Generation:
        """The generation that is written."""
        return self.target.generation


def embed_live(
    database: Database,
    settings: Settings,
    work: Work,
    *,
    live: Sequence[Generation],
    scope: Scope,
    embedder_of: EmbedderOf,
    budget: Budget,
    run: str,
    seconds: float = 0.0,
) -> None:
    """Embed what the live generations lack, for the work's folders and in the order and the measure of the scope.

    One generation's failure does not keep the others from being written: it is stored with the generation. Raises the
    first one of a generation that the scope says must be written. `seconds` is when to stop claiming, 0 is no limit.
    """
    failures: list[VaultlineError] = []
    deadline = time.monotonic() + seconds if seconds else None
    with database.connect(autocommit=True) as connection:
        failed_lately = states.recent_problems(connection, seconds=LEAVE_ALONE)
        for target in targets(live, scope):
            generation = target.generation
            if scope is Scope.CHANGES and not target.must and generation.id in failed_lately:
                continue
            try:
                price = price_per_million(generation.model, settings)
                share = Share(connection, target, embedder_of(target), budget, price, run, deadline)
                embed_pending(share, work)
                states.put_problem(connection, generation.id, None)
            except VaultlineError as error:
                _log.error("generation %d (%s): %s", generation.id, generation.model, error)
                states.put_problem(connection, generation.id, str(error))
                if target.must:
                    failures.append(error)
        for row in states.spending(connection, run):
            work.extra[f"generation {row['generation_id']} tokens"] = row["tokens"]
            work.extra[f"generation {row['generation_id']} cost_usd"] = round(row["cost_usd"], 6)
        work.extra["cost_usd"] = round(budget.cost, 6)
    if failures:
        raise failures[0]


def embed_pending(share: Share, work: Work) -> None:
    """Embed every text of the work's folders that has no vector under the generation's model.

    Several workers divide the texts; vectors are stored as they come, so that a killed run loses one batch. Raises
    ModelChanged before the first text where the model is not what it was, BudgetExceeded where a cap is reached.
    """
    checked = False
    claim = _CLAIM if share.embedder.spec.provider in FREE else _CLAIM_OF_HOSTED
    if share.deadline is not None:
        claim = _CLAIM_OF_SLICE
    fingerprint = share.generation.fingerprint
    while pending := vectors.pending_texts(
        share.connection, folders=work.folders, fingerprint=fingerprint, limit=_LOOK_AHEAD, since=share.target.since
    ):
        if not checked:
            check_model(share.connection, share.generation, share.embedder)
            checked = True
        idle = True
        for start in range(0, len(pending), claim):
            if share.deadline is not None and time.monotonic() > share.deadline:
                return
            hashes = pending[start : start + claim]
            with vectors.claim(share.connection, fingerprint=fingerprint, hashes=hashes) as texts:
                idle = idle and not texts
                if texts:
                    _embed(share, texts, work)
        if idle and not share.target.waits:
            return
        if idle:
            time.sleep(_SOMEBODY_ELSE)


def publish_live(database: Database, work: Work, *, live: Sequence[Generation], scope: Scope) -> None:
    """Write the rows of documents whose vectors are there, for the work's folders; the serving generation last."""
    with database.connect(autocommit=True) as connection:
        for target in publishing_order(targets(live, scope)):
            while ids := generations.pending_publications(
                connection,
                target.generation,
                folders=work.folders,
                limit=_PUBLISHED_AT_ONCE,
                since=target.since,
            ):
                documents, added, removed = publish(database, target.generation, ids)
                if documents == 0:
                    break  # others were faster, or the documents changed meanwhile and wait for their new chunks
                work.count(None, documents=documents, added=added, removed=removed)
        for generation in live:
            _note_progress(connection, generation, work)


def publish(database: Database, generation: Generation, ids: list[int]) -> tuple[int, int, int]:
    """One transaction; tried again when the server undid it because of another. Documents, rows added and removed."""

    def work() -> tuple[int, int, int]:
        with database.connect() as connection:
            return generations.publish(connection, generation, ids)

    return retry_conflicts(work)


def _note_progress(connection: Connection, generation: Generation, work: Work) -> None:
    """How far each folder is in each generation, as figures of the folder."""
    for row in states.folder_progress(connection, generation.id):
        if row["folder"] in work.folders:
            own = {f"generation {generation.id} documents": row["published"]}
            if row["published"] < row["documents"]:
                own[f"generation {generation.id} missing"] = row["documents"] - row["published"]
            work.note(row["folder"], **own)


def _embed(share: Share, texts: Sequence[TextToEmbed], work: Work) -> None:
    if not share.budget.capped:
        _embed_all(share, texts, work)
        return
    rest = list(texts)
    while rest:  # what came back is spent at its true number of tokens, so that more may fit than at first
        tokens = share.embedder.count_tokens([text.text for text in rest])
        fits = share.budget.affordable(tokens, model=share.generation.model, price=share.price)
        _embed_all(share, rest[:fits], work)
        rest = rest[fits:]


def _embed_all(share: Share, texts: Sequence[TextToEmbed], work: Work) -> None:
    def keep(indices: list[int], batch: Embeddings) -> None:
        tokens = int(batch.tokens.sum())
        with share.connection.transaction():
            vectors.put_embeddings(
                share.connection,
                fingerprint=share.generation.fingerprint,
                texts=[texts[index] for index in indices],
                embeddings=batch,
            )
            cost = share.budget.spend(tokens, price=share.price)
            states.spend(
                share.connection,
                run=share.run,
                generation=share.generation.id,
                texts=len(indices),
                tokens=tokens,
                cost_usd=cost,
            )
        work.count(
            None,
            embedded=len(indices) - len(batch.refused),
            truncated=len(batch.truncated),
            windowed=len(batch.windowed),
            refused=len(batch.refused),
            tokens=tokens,
        )

    embed_in_batches(share.embedder, [text.text for text in texts], role=Role.DOCUMENT, on_batch=keep)
