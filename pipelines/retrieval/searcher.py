"""The small public API of search: `Searcher(database, settings).search("...")`."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from pipelines.embedding.protocol import Embedder
from pipelines.errors import EmbeddingError, GenerationNotFound, ModelChanged, NoActiveGeneration
from pipelines.model_identity import check_model
from pipelines.parsing.document import Json
from pipelines.retrieval.calibration import ANSWERED_FROM, Calibration
from pipelines.retrieval.evidence import evidence
from pipelines.retrieval.expand import expand
from pipelines.retrieval.fusion import Scored, spread
from pipelines.retrieval.gather import Gathered, gather
from pipelines.retrieval.meaning import Meaning
from pipelines.retrieval.passage import Passage, SearchResult
from pipelines.retrieval.query_embedder import QueryEmbedder
from pipelines.retrieval.question import Question, ask
from pipelines.retrieval.ranking import rank
from pipelines.retrieval.rerank import Reranker
from pipelines.settings import Settings
from pipelines.storage import search as storage
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation, active_generation, announced_generation, live_generations
from pipelines.storage.search import PassageRow


@dataclass(frozen=True, slots=True)
class Found:
    """What one transaction gave. `failure` says why the vector leg is missing, if it is."""

    generation: Generation
    passages: tuple[Passage, ...]
    confidence: float
    gathered: Gathered
    ranked: tuple[Scored, ...]
    failure: str | None = None


_NOTHING = "nothing was found"
_NOT_GOOD_ENOUGH = "nothing that was found answers this well enough"


class Searcher:
    """Answers questions from the active generation. Safe to use from many threads; keep one for a process.

    Every search reads the generation's row and both legs in one transaction, so that a switch of models in between is
    either seen completely or not at all.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self.settings = settings
        self._embedder = QueryEmbedder(settings, check=self._check_model)
        self._reranker = None if settings.rerank_model is None else Reranker(settings.rerank_model)
        self._known: Generation | None = None  # the active one when last asked: saves a round trip, never trusted

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        locale: str | None = None,
        folder: str | None = None,
        tags: Sequence[str] = (),
        properties: Mapping[str, Json] | None = None,
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
        source: str | None = None,
        sources: Sequence[str] | None = None,
        mode: str = "hybrid",
        generation: int | None = None,
        always: bool = False,
        alone: bool = False,
    ) -> SearchResult:
        """The passages that answer a question, best first; see `question.ask` for the parameters.

        `generation` asks a live generation by number instead of the active one. With `always`, passages that are not
        good enough are returned all the same, for evaluations; `answered` stays honest. With `alone`, passages come
        without their neighbours whatever SEARCH_EXPAND says.

        Raises InvalidQuery, NoActiveGeneration, GenerationNotFound, DatabaseError. A provider that fails costs the
        vector leg, and `reason` says so; with mode "vector" there is no other leg, and EmbeddingError is raised.
        """
        started = time.perf_counter()
        question = ask(
            query,
            k=k,
            locale=locale,
            folder=folder,
            tags=tags,
            properties=properties,
            since=since,
            until=until,
            source=source,
            sources=sources,
            mode=mode,
            most=self.settings.search_max_characters,
        )
        found = self.consider(question, generation=generation, alone=alone)
        answered = bool(found.passages) and found.confidence >= ANSWERED_FROM
        notices = [question.notice, found.failure]
        if found.passages and not found.gathered.worded and question.mode != "vector":
            notices.append("the question has no words to look for: answered by meaning alone")
        if not answered:
            notices.append(_NOT_GOOD_ENOUGH if found.passages else _NOTHING)
        return SearchResult(
            query=query,
            answered=answered,
            reason="; ".join(notice for notice in notices if notice) or None,
            generation=found.generation.id,
            model=found.generation.model,
            results=found.passages if answered or always else (),
            seconds=time.perf_counter() - started,
            confidence=found.confidence,
            locale=question.locale or found.gathered.language,
        )

    def consider(
        self, question: Question, *, generation: int | None = None, everything: bool = False, alone: bool = False
    ) -> Found:
        """What both legs find and how it is ranked, in one transaction; `everything` makes all candidates passages."""
        asked = self._known if generation is None and self._known is not None else self._look_up(generation)
        while True:
            meaning, failure = self._embed(asked, question, wait=generation is not None)
            with storage.reading(self._database) as connection:
                present = _generation(connection, generation)
                if generation is None and (coming := announced_generation(connection)) is not None:
                    self._embedder.prepare(coming)  # a switch is near: it should find the model loaded
                if present.id == asked.id:
                    found = self._find(connection, present, question, meaning, everything=everything, alone=alone)
                    break
            asked = present  # switched while the question was being embedded: its vector is of another space
        if generation is None:
            self._known = found.generation  # with the calibration that it has now
        return replace(found, failure=failure)

    def close(self) -> None:
        """Give back the model and the connections."""
        self._embedder.close()
        self._database.close()

    def _look_up(self, number: int | None) -> Generation:
        with self._database.reader() as connection:
            return _generation(connection, number)

    def _check_model(self, generation: Generation, embedder: Embedder) -> None:
        with self._database.reader() as connection:
            check_model(connection, generation, embedder)

    def _embed(self, generation: Generation, question: Question, *, wait: bool) -> tuple[Meaning | None, str | None]:
        if question.mode == "text":
            return None, None
        trusts = Calibration.of_generation(generation).languages
        common = [language for language, trust in trusts.items() if trust.common]
        wait = wait or question.mode == "vector"
        try:
            return self._embedder.embed(generation, question.text, common=common, wait=wait), None
        except (EmbeddingError, ModelChanged) as error:
            if question.mode == "vector":
                raise
            return None, f"answered by words alone: {error}"

    def _find(
        self,
        connection: Connection,
        generation: Generation,
        question: Question,
        meaning: Meaning | None,
        *,
        everything: bool,
        alone: bool,
    ) -> Found:
        settings = self.settings
        calibration = Calibration.of_generation(generation)
        gathered = gather(connection, generation, question, meaning, calibration, settings)
        trust = calibration.of(gathered.language)
        ranked = rank(gathered, question, trust, settings)
        confidence = trust.confidence(evidence(ranked, gathered, worded=gathered.worded and question.mode != "vector"))
        order = ranked
        if self._reranker is not None and not everything:
            first = ranked[: settings.rerank_depth]
            read = storage.passages(connection, generation, [item.candidate.id for item in first])
            contents = [read[item.candidate.id].content for item in first]
            order = [*self._reranker.rerank(question.text, first, contents), *ranked[settings.rerank_depth :]]
        kept = order if everything else spread(order, k=question.k, per_document=settings.search_per_document)
        ids = [item.candidate.id for item in kept]
        rows = storage.passages(connection, generation, ids)
        cosines = {item.candidate.id: item.candidate.similarity for item in kept}
        if trust.common and meaning is not None and not everything:  # what is shown is the plain cosine
            cosines |= storage.similarities(connection, generation, ids, meaning.vector)
        passages = tuple(
            to_passage(rows[number], item, cosines[number]) for number, item in zip(ids, kept, strict=True)
        )
        if settings.search_expand and not everything and not alone:
            passages = expand(connection, generation, kept, passages, around=settings.search_expand)
        return Found(generation, passages, confidence, gathered, tuple(ranked))


def to_passage(row: PassageRow, item: Scored, similarity: float | None) -> Passage:
    """A row as readers see it."""
    pages = None if row.page_start is None or row.page_end is None else (row.page_start, row.page_end)
    return Passage(
        source=row.source,
        ordinal=row.ordinal,
        section=row.section,
        lines=(row.line_start, row.line_end),
        pages=pages,
        content=row.content,
        score=item.score,
        similarity=similarity,
        locale=row.locale,
        modified_at=row.modified_at,
        title=row.title,
        folder=row.folder,
    )


def _generation(connection: Connection, number: int | None) -> Generation:
    if number is None:
        active = active_generation(connection)
        if active is None:
            raise NoActiveGeneration("nothing is indexed yet: run `vaultline sync`, and search when it has ended")
        return active
    live = {generation.id: generation for generation in live_generations(connection)}
    if number not in live:
        raise GenerationNotFound(f"there is no live generation {number}: see `vaultline generation list`")
    return live[number]
