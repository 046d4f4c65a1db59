"""The small public API of search: `Searcher(database, settings).search("...")`."""

import time
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pipelines.errors import EmbeddingError, NoActiveGeneration
from pipelines.parsing.document import Json
from pipelines.retrieval.passage import Passage, SearchResult
from pipelines.retrieval.query_embedder import QueryEmbedder
from pipelines.retrieval.question import Question, ask
from pipelines.settings import Settings
from pipelines.storage import search as storage
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation, active_generation
from pipelines.storage.search import PassageRow


class Searcher:
    """Answers questions from the active generation. Safe to use from many threads; keep one for a process.

    Every search reads the generation's row and both legs in one transaction, so that a switch of models in between is
    either seen completely or not at all.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._embedder = QueryEmbedder(settings)

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
        mode: str = "hybrid",
    ) -> SearchResult:
        """The passages that answer a question, best first; see `question.ask` for the parameters.

        Raises InvalidQuery, NoActiveGeneration, DatabaseError. A provider that fails costs the vector leg, and the
        result's `reason` says so; with mode "vector" there is no other leg, and EmbeddingError is raised.
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
            mode=mode,
            most=self._settings.search_max_characters,
        )
        generation = self._current()
        while True:
            vector, failure = self._embed(generation, question)
            with storage.reading(self._database) as connection:
                present = _active(connection)
                if present.id == generation.id:
                    found = self._find(connection, present, question, vector)
                    break
            generation = present  # switched while the question was being embedded: its vector is of another space
        notices = [notice for notice in (question.notice, failure) if notice]
        return SearchResult(
            query=query,
            answered=bool(found),
            reason="; ".join(notices) or (None if found else "nothing was found"),
            generation=generation.id,
            model=generation.model,
            results=found,
            seconds=time.perf_counter() - started,
        )

    def close(self) -> None:
        """Give back the model and the connections."""
        self._embedder.close()
        self._database.close()

    def _current(self) -> Generation:
        with self._database.reader() as connection:
            return _active(connection)

    def _embed(self, generation: Generation, question: Question) -> tuple[NDArray[np.float32] | None, str | None]:
        if question.mode == "text":
            return None, None
        try:
            return self._embedder.embed(generation, question.text), None
        except EmbeddingError as error:
            if question.mode == "vector":
                raise
            return None, f"answered by words alone: {error}"

    def _find(
        self,
        connection: Connection,
        generation: Generation,
        question: Question,
        vector: NDArray[np.float32] | None,
    ) -> tuple[Passage, ...]:
        if vector is None:
            return ()
        settings = self._settings
        limit = max(settings.search_candidates, question.k)
        candidates = storage.vector_candidates(connection, generation, vector, filters=question.filters, limit=limit)
        rows = storage.passages(
            connection, generation, list(candidates), vector=vector, age_days=settings.search_age_days
        )
        scored = [(cast(float, row.similarity) - settings.search_age_penalty * row.aged, row) for row in rows.values()]
        scored.sort(key=lambda pair: (-pair[0], pair[1].source, pair[1].ordinal))
        return tuple(to_passage(row, score) for score, row in scored[: question.k])


def to_passage(row: PassageRow, score: float) -> Passage:
    """A row as readers see it."""
    pages = None if row.page_start is None or row.page_end is None else (row.page_start, row.page_end)
    return Passage(
        source=row.source,
        ordinal=row.ordinal,
        section=row.section,
        lines=(row.line_start, row.line_end),
        pages=pages,
        content=row.content,
        score=score,
        similarity=row.similarity,
        locale=row.locale,
        modified_at=row.modified_at,
        title=row.title,
        folder=row.folder,
    )


def _active(connection: Connection) -> Generation:
    generation = active_generation(connection)
    if generation is None:
        raise NoActiveGeneration("nothing is indexed yet: run `vaultline sync`, and search when it has ended")
    return generation
