"""The indexes of a generation, that they are used, and that a filter never costs rows (B07)."""
# ruff: noqa: S608  # table names are ours

from typing import Any

import numpy as np
import pytest
from psycopg import sql

from pipelines.retrieval.words import driving_terms
from pipelines.storage import knowledge_index, search
from pipelines.storage.knowledge_index import EXACT_ROWS, ensure_indexes, indexed_locales
from pipelines.storage.queries import query
from pipelines.storage.search import Filters


def _vector(dimensions: int, seed: int = 3) -> Any:
    vector = np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    return vector / np.linalg.norm(vector)


def _plan(connection: Any, statement: sql.Composed, parameters: dict[str, object]) -> str:
    rows = connection.execute(sql.Composed([sql.SQL("EXPLAIN "), statement]), parameters)
    return "\n".join(str(row[0]) for row in rows)


@pytest.fixture
def large(index: Any) -> Any:
    """4,000 random rows in English, 40 of them tagged `cocina`, and 10 rows in Spanish."""
    index.fill(4_000, tag=lambda number: "cocina" if number % 100 == 7 else "common")
    index.fill(10, locale="es", tag=lambda number: "cocina")
    return index


def test_small_languages_have_no_vector_index(large: Any) -> None:
    with large.database.connect() as connection:
        assert indexed_locales(connection, large.generation) == {"en"}
        assert ensure_indexes(connection, large.generation, large.settings) == []
        assert connection.execute("SELECT indexed FROM generation").fetchall() == [(True,)]


def test_explain_shows_the_intended_indexes(large: Any) -> None:
    table, generation = large.generation.table, large.generation
    with search.reading(large.database) as connection:
        statement = search.vector_statement(generation, frozenset({"en"}), frozenset({"es"}))
        parameters = Filters().parameters() | {"vector": search.vector_text(_vector(64)), "limit": 50}
        plan = _plan(connection, statement, parameters)
        assert knowledge_index.vector_index(generation, "en") in plan
        assert f"{table}_locale" in plan
        assert "Seq Scan" not in plan
        plan = _plan(
            connection,
            sql.SQL("SELECT id FROM {} WHERE search @@ 'zymurgy'::tsquery").format(sql.Identifier(table)),
            {},
        )
        assert f"{table}_search" in plan
        terms, _ = search.question_terms(connection, generation, "filler 1234")
        plan = _plan(
            connection,
            query("text_leg", table=table, filters=query("filters")),
            Filters().parameters()
            | {
                "generation": generation.id,
                "driving_languages": ["en"], "driving_queries": ["'1234'"], "driving_weights": [1.0],
                "languages": ["en"], "lexemes": ["1234"], "weights": [1.0], "lengths": [3.0],
                "also": [], "most": 10, "prune": 10, "k1": 0.9, "b": 0.4,
            },
        )  # fmt: skip
        assert f"{table}_search" in plan
        assert terms


def test_filters_never_leave_fewer_rows_than_there_are(large: Any) -> None:
    generation, vector = large.generation, _vector(64)
    with search.reading(large.database) as connection:
        for filters in (
            Filters(tags=("cocina",)),
            Filters(tags=("cocina",), locale="en"),
            Filters(source="filler/en-7.md"),
        ):
            expected = 1 if filters.source else 10
            found = search.vector_candidates(connection, generation, vector, filters=filters, limit=10)
            assert len(found) == expected, filters
        everything = search.vector_candidates(connection, generation, vector, filters=Filters(), limit=100)
    assert len(everything) == 100


def test_a_broad_filter_goes_through_the_index_and_is_right(index: Any) -> None:
    index.fill(6_000, tag=lambda number: "half" if number % 2 else "other")
    vector = _vector(64)
    with search.reading(index.database) as connection:
        found = search.vector_candidates(
            connection, index.generation, vector, filters=Filters(tags=("half",)), limit=10
        )
        exact = connection.execute(
            f"SELECT id FROM {index.generation.table} WHERE 'half' = ANY(tags)"
            " ORDER BY (embedding <=> %s::vector) + 0 LIMIT 10",
            (search.vector_text(vector),),
        ).fetchall()
    assert len(found) == 10
    assert len(set(found) & {row[0] for row in exact}) >= 9


def test_the_index_finds_what_exact_search_finds_also_after_churn(index: Any) -> None:
    index.fill(5_000)
    table, generation = index.generation.table, index.generation
    with index.database.connect() as connection:
        connection.execute(f"DELETE FROM {table} WHERE id % 3 = 0")
        connection.execute(
            f"UPDATE {table} SET embedding = embedding * array_fill(-1, ARRAY[64])::vector WHERE id % 3 = 1"
        )
    shares = []
    with search.reading(index.database) as connection:
        assert indexed_locales(connection, generation) == {"en"}
        for seed in range(20):
            vector = _vector(64, seed)
            found = search.vector_candidates(connection, generation, vector, filters=Filters(), limit=10)
            exact = connection.execute(
                f"SELECT id FROM {table} ORDER BY (embedding <=> %s::vector) + 0 LIMIT 10",
                (search.vector_text(vector),),
            ).fetchall()
            shares.append(len(set(found) & {row[0] for row in exact}) / 10)
    assert np.mean(shares) >= 0.95


@pytest.mark.parametrize(("dimensions", "kind"), [(2_500, "halfvec"), (64, "vector")])
def test_wide_vectors_are_indexed_as_halves(index: Any, dimensions: int, kind: str) -> None:
    wide = index.add_generation(f"fake/wide-{dimensions}")
    with index.database.connect() as connection:
        name = knowledge_index.vector_index(wide, "en")
        statement = query(
            "create_vector_index", table=wide.table, index=name, vector=knowledge_index.indexed_vector(wide),
            operators=sql.SQL(f"{kind}_cosine_ops"), locale=sql.Literal("en"),
        )  # fmt: skip
        connection.execute(statement)
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = _plan(
            connection,
            search.vector_statement(wide, frozenset({"en"}), frozenset()),
            Filters().parameters() | {"vector": search.vector_text(_vector(dimensions)), "limit": 5},
        )
    assert name in plan


def test_exact_rows_is_a_limit_and_not_a_promise() -> None:
    assert 500 <= EXACT_ROWS <= 10_000


def test_rare_words_drive_the_candidates(large: Any) -> None:
    """The cost follows the rare term: the common one, in every row, is never looked up."""
    large.write("rare.md", ["filler zymurgy"])
    with search.reading(large.database) as connection:
        terms, _ = search.question_terms(connection, large.generation, "filler zymurgy")
        driving = driving_terms([term for term in terms if term.language == "en"])
        assert [item.query for item in driving] == ["'zymurgi'", "'zymurgi' & 'filler'"]
        found = search.text_candidates(
            connection, large.generation, terms, driving, filters=Filters(), also=[], k1=0.9, b=0.4, limit=10, most=3000
        )
    assert len(found) == 1
