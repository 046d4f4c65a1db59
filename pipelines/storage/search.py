"""The statements behind a search: both legs, and the passages that are shown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray
from psycopg import sql
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from pipelines.parsing.document import Json
from pipelines.storage.database import Connection, Database
from pipelines.storage.generations import Generation
from pipelines.storage.knowledge_index import HALFVEC_DIMENSIONS, VECTOR_DIMENSIONS, indexed_vector, split_locales
from pipelines.storage.queries import query

EXACT_FILTERED = 2_000
"""Rows that a filter may leave for all of them to be compared; measured in docs/retrieval.md."""

_EF_SEARCH = 120


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows may be found; None and empty filter nothing. `folders`: partition keys; `prefix`: a source's start."""

    locale: str | None = None
    folders: tuple[str, ...] | None = None
    prefix: str | None = None
    tags: tuple[str, ...] = ()
    properties: Mapping[str, Json] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    source: str | None = None
    sources: tuple[str, ...] | None = None

    @property
    def narrow(self) -> bool:
        """Whether rows may be left out inside a locale. A locale alone is no filter: it has its own index."""
        return replace(self, locale=None) != Filters()

    def parameters(self) -> dict[str, object]:
        """Parameters of the statement `filters`."""
        return {
            "locale": self.locale,
            "folders": None if self.folders is None else list(self.folders),
            "prefix": self.prefix,
            "tags": list(self.tags) or None,
            "properties": Jsonb(dict(self.properties)) if self.properties else None,
            "since": self.since,
            "until": self.until,
            "source": self.source,
            "sources": None if self.sources is None else list(self.sources),
        }


@dataclass(frozen=True, slots=True)
class Term:
    """A lexeme of a question in one language.

    `chunks` and `length` are the language's rows and their mean of words. `positions` are its words' places,
    empty for a `code`, which is an identifier as typed. `part`: a piece of a name in camel case. `held_by`: how many
    rows hold the lexeme.
    """

    language: str
    lexeme: str
    positions: tuple[int, ...]
    code: bool
    part: bool
    chunks: float
    length: float
    held_by: int
    likeness: float = 1.0
    """How like what was typed the lexeme is: below 1 where a typing mistake was put right."""

    @property
    def weight(self) -> float:
        """Inverse document frequency as BM25 has it, never negative; half for a piece of a name."""
        frequency = math.log1p(max(0.0, self.chunks - self.held_by + 0.5) / (self.held_by + 0.5))
        return frequency * (0.5 if self.part else 1.0) * self.likeness


@dataclass(frozen=True, slots=True)
class Words:
    """What a row has of a question's words: its BM25 sum, the sum over the best rows of its document, and the plain
    sums of the weights of the terms that are held, once by the row and once by its document."""

    own: float
    shared: float
    held: float
    shared_held: float


@dataclass(frozen=True, slots=True)
class Driving:
    """A text query in Postgres' own syntax that proposes candidates, and what holding it is worth."""

    language: str
    query: str
    weight: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that a leg found. `aged`: old enough for the age penalty."""

    id: int
    document_id: int
    source: str
    ordinal: int
    locale: str
    language: str
    aged: bool
    similarity: float | None


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A row of a generation's table as search shows it."""

    id: int
    document_id: int
    source: str
    ordinal: int
    folder: str
    title: str
    section: str
    content: str
    context: str
    locale: str
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None
    modified_at: datetime


@contextmanager
def reading(database: Database) -> Iterator[Connection]:
    """A pooled connection in one read-only transaction that sees one state of the database throughout."""
    with database.reader() as connection:
        with connection.pipeline():  # one round trip for both
            connection.execute(query("begin_search"))
            connection.execute(query("tune_search"), {"ef_search": str(_EF_SEARCH), "max_scan_tuples": "40000"})
        yield connection


def vector_candidates(
    connection: Connection, generation: Generation, vector: NDArray[np.float32], *, filters: Filters, limit: int
) -> dict[int, float]:
    """Rows nearest to a question's vector: id -> cosine. Never fewer than `limit` where that many pass the filters."""
    parameters = filters.parameters() | {"vector": vector_text(vector), "limit": limit}
    indexed, small = split_locales(connection, generation)
    if filters.locale is not None:
        indexed, small = indexed & {filters.locale}, small & {filters.locale}
    others: frozenset[str] | None = small
    if indexed and filters.narrow:
        left = _count_filtered(connection, generation, parameters)
        if left <= EXACT_FILTERED:
            indexed, others = frozenset(), None
    found = _nearest(connection, generation, parameters, indexed, others)
    if indexed and filters.narrow and len(found) < limit:
        found = _nearest(connection, generation, parameters, frozenset(), None)  # the scan's bounds ended it too early
    return found


def question_terms(connection: Connection, generation: Generation, text: str) -> tuple[list[Term], dict[str, float]]:
    """A question's lexemes in each language of the generation, and how many rows each of these languages has."""
    parameters = {"generation": generation.id, "question": text}
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query("question_terms"), parameters).fetchall()
    terms = [
        Term(**row | {"positions": tuple(row["positions"] or ()), "code": row["positions"] is None})
        for row in rows
        if row["lexeme"] is not None
    ]
    return terms, {row["language"]: row["chunks"] for row in rows}


def similar_terms(
    connection: Connection, generation: Generation, terms: Sequence[Term], *, least: float
) -> dict[tuple[str, str], Term]:
    """For terms that no row holds, by language and lexeme: the likeliest one that was meant, if there is any."""
    parameters = {
        "generation": generation.id,
        "languages": [term.language for term in terms],
        "lexemes": [term.lexeme for term in terms],
        "least": least,
    }
    by_key = {(term.language, term.lexeme): term for term in terms}
    meant = {}
    for language, lexeme, term, held_by, likeness in connection.execute(query("similar_terms"), parameters):
        key = (str(language), str(lexeme))
        meant[key] = replace(by_key[key], lexeme=str(term), held_by=cast(int, held_by), likeness=cast(float, likeness))
    return meant


def text_candidates(
    connection: Connection,
    generation: Generation,
    terms: Sequence[Term],
    driving: Sequence[Driving],
    *,
    filters: Filters,
    also: Sequence[int],
    k1: float,
    b: float,
    limit: int,
    most: int,
) -> dict[int, Words]:
    """BM25 of the `limit` rows that hold the most telling driving terms, and of the rows `also`.

    At most `most` rows are looked at for
    each driving query, which bounds the cost where every term of a question is common.
    """
    parameters = filters.parameters() | {
        "driving_languages": [item.language for item in driving],
        "driving_queries": [item.query for item in driving],
        "driving_weights": [item.weight for item in driving],
        "languages": [term.language for term in terms],
        "lexemes": [term.lexeme for term in terms],
        "weights": [term.weight for term in terms],
        "lengths": [term.length for term in terms],
        "generation": generation.id,
        "also": list(also),
        "most": most,
        "prune": limit,
        "k1": k1,
        "b": b,
    }
    rows = connection.execute(query("text_leg", table=generation.table, filters=query("filters")), parameters)
    return {cast(int, row[0]): Words(*cast(tuple[float, float, float, float], row[1:])) for row in rows}


def describe(
    connection: Connection,
    generation: Generation,
    ids: Sequence[int],
    *,
    vector: NDArray[np.float32] | None,
    measured: Mapping[int, float],
    age_days: int,
) -> list[Candidate]:
    """What fusion needs to know of candidates, with their cosine to the question's vector where there is one.

    `measured` are the cosines that the vector leg has found already: reading a vector is what costs here.
    """
    parameters = {
        "ids": list(ids),
        "unmeasured": [] if vector is None else [number for number in ids if number not in measured],
        "question": None if vector is None else vector_text(vector),
        "age_days": age_days,
    }
    with connection.cursor(row_factory=class_row(Candidate)) as cursor:
        rows = cursor.execute(query("describe_candidates", table=generation.table), parameters).fetchall()
    return [replace(row, similarity=measured[row.id]) if row.id in measured else row for row in rows]


def holding_phrase(connection: Connection, generation: Generation, ids: Sequence[int], phrase: str) -> frozenset[int]:
    """Which of the rows hold a phrase word for word."""
    statement = query("quoted_phrases", table=generation.table)
    rows = connection.execute(statement, {"ids": list(ids), "phrase": phrase})
    return frozenset(cast(int, row[0]) for row in rows)


def passages(connection: Connection, generation: Generation, ids: Sequence[int]) -> dict[int, PassageRow]:
    """The rows to show, by id."""
    with connection.cursor(row_factory=class_row(PassageRow)) as cursor:
        rows = cursor.execute(query("passages", table=generation.table), {"ids": list(ids)})
        return {row.id: row for row in rows}


def similarities(
    connection: Connection, generation: Generation, ids: Sequence[int], vector: NDArray[np.float32]
) -> dict[int, float]:
    """Cosine of each row to a vector, for those that have one."""
    parameters = {"ids": list(ids), "question": vector_text(vector)}
    rows = connection.execute(query("similarities", table=generation.table), parameters)
    return {cast(int, row[0]): cast(float, row[1]) for row in rows}


def neighbours(connection: Connection, generation: Generation, places: Sequence[tuple[int, int]]) -> list[PassageRow]:
    """The rows at the given (document id, ordinal)."""
    parameters = {"documents": [place[0] for place in places], "ordinals": [place[1] for place in places]}
    with connection.cursor(row_factory=class_row(PassageRow)) as cursor:
        return cursor.execute(query("neighbours", table=generation.table), parameters).fetchall()


def vector_text(vector: NDArray[np.float32]) -> str:
    """A vector as pgvector reads it; shortest digits that give the same floats."""
    return "[" + ",".join(map(str, vector.tolist())) + "]"


def _nearest(
    connection: Connection,
    generation: Generation,
    parameters: dict[str, object],
    indexed: frozenset[str],
    others: frozenset[str] | None,
) -> dict[int, float]:
    if not indexed and others is not None and not others:
        return {}
    rows = connection.execute(vector_statement(generation, indexed, others), parameters)
    return {cast(int, row[0]): cast(float, row[1]) for row in rows}


def vector_statement(generation: Generation, indexed: frozenset[str], others: frozenset[str] | None) -> sql.Composed:
    """The vector leg: a scan of each indexed locale's HNSW, and all rows of `others` (None: of the whole table)."""
    filters, vector, question = query("filters"), indexed_vector(generation), _question(generation)
    branches = [
        query(
            "vector_indexed",
            table=generation.table,
            vector=vector,
            question=question,
            filters=filters,
            locale=sql.Literal(locale),
        )
        for locale in sorted(indexed)
    ]
    if others or others is None:
        covered = sql.SQL("true") if others is None else sql.SQL("locale = ANY({})").format(sql.Literal(sorted(others)))
        branches.append(
            query(
                "vector_exact",
                table=generation.table,
                vector=vector,
                question=question,
                filters=filters,
                covered=covered,
            )
        )
    return query("vector_leg", branches=sql.SQL(" UNION ALL ").join(branches))


def _question(generation: Generation) -> sql.Composed:
    kind = "halfvec" if VECTOR_DIMENSIONS < generation.dimensions <= HALFVEC_DIMENSIONS else "vector"
    return sql.SQL("%(vector)s::{}({})").format(sql.SQL(kind), sql.Literal(generation.dimensions))


def _count_filtered(connection: Connection, generation: Generation, parameters: dict[str, object]) -> int:
    statement = query("probe_filters", table=generation.table, filters=query("filters"))
    row = connection.execute(statement, parameters | {"most": EXACT_FILTERED + 1}).fetchone()
    assert row is not None
    return cast(int, row[0])
