"""Term statistics are exactly what a recount gives, whatever was written, deleted, moved, undone or written at once."""
# ruff: noqa: S608  # table names are ours

import random
import threading
from typing import Any

import psycopg

from pipelines.storage import generations, statistics
from pipelines.storage.database import Database
from pipelines.storage.search import question_terms

WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "índia", "juliet", "kilo"]


def _differences(database: Database, generation: Any) -> int:
    with database.connect() as connection:
        return statistics.differences(connection, generation)


def _held_by(index: Any, word: str) -> int:
    with index.database.connect() as connection:
        terms, _ = question_terms(connection, index.generation, word)
    return sum(term.held_by for term in terms if not term.code)


def test_statistics_follow_every_change(index: Any) -> None:
    index.write("a.md", ["alpha bravo", "alpha charlie"], title="Bravo")
    index.write("b.md", ["alpha"], locale="es")
    assert _held_by(index, "alpha") == 3
    assert _held_by(index, "bravo") == 2  # the title counts for each of its passages
    index.write("a.md", ["charlie"], title="Delta", sections=[""])
    assert (_held_by(index, "alpha"), _held_by(index, "bravo"), _held_by(index, "delta")) == (1, 0, 1)
    index.move("a.md", "x/a.md", title="Echo")
    assert (_held_by(index, "delta"), _held_by(index, "echo")) == (0, 1)
    index.write("b.md", ["alpha"], locale="en")  # another language: another stemmer, other statistics
    index.delete("x/a.md")
    assert (_held_by(index, "alpha"), _held_by(index, "echo")) == (1, 0)
    assert _differences(index.database, index.generation) == 0


def test_a_random_history_equals_a_recount(index: Any) -> None:
    dice = random.Random(5)
    other = index.add_generation("fake/second-32")
    for step in range(60):
        source = f"{dice.choice('abcdef')}.md"
        kind = dice.random()
        passages = [" ".join(dice.choices(WORDS, k=dice.randint(1, 6))) for _ in range(dice.randint(0, 4))]
        if kind < 0.7:
            index.write(source, passages, locale=dice.choice(["en", "es", "fr"]), title=dice.choice(WORDS))
        elif kind < 0.85:
            index.delete(source)
        if step % 20 == 10:
            with index.database.connect() as connection:
                assert statistics.fold(connection, least=1)
    for generation in (index.generation, other):
        assert _differences(index.database, generation) == 0


def test_what_is_undone_is_not_counted(index: Any) -> None:
    index.write("a.md", ["alpha"])
    with index.database.connect() as connection:
        connection.execute(f"DELETE FROM {index.generation.table}")
        connection.rollback()
    assert _held_by(index, "alpha") == 1
    assert _differences(index.database, index.generation) == 0


def test_two_writers_with_the_same_words_in_opposite_order_do_not_block_each_other(index: Any) -> None:
    first = index.write("a.md", [" ".join(WORDS)])
    second = index.write("b.md", [" ".join(reversed(WORDS))])
    update = f"UPDATE {index.generation.table} SET title = title || ' more ' || %s WHERE document_id = %s"
    with index.database.connect() as one, index.database.connect() as two:
        for connection in (one, two):
            connection.execute("SET LOCAL lock_timeout = '2s'")
        one.execute(update, ("alpha", first))
        two.execute(update, ("kilo", second))  # would wait if both had to write the same term's row
        one.execute(update, ("kilo", first))
        two.execute(update, ("alpha", second))
    assert _differences(index.database, index.generation) == 0


def test_folding_beside_writers_loses_nothing(index: Any) -> None:
    stop = threading.Event()

    def fold() -> None:
        while not stop.is_set():
            with index.database.connect() as connection:
                statistics.fold(connection, least=1)

    folder = threading.Thread(target=fold)
    folder.start()
    for number in range(25):
        index.write(f"{number % 5}.md", [" ".join(WORDS[number % 7 :])])
    stop.set()
    folder.join()
    assert _differences(index.database, index.generation) == 0
    with index.database.connect() as connection:
        statistics.fold(connection, least=1)
        rows = connection.execute("SELECT count(*), count(DISTINCT term) FROM term_statistic").fetchone()
    assert rows is not None
    assert rows[0] == rows[1]


def test_a_reader_sees_statistics_and_rows_of_one_moment(index: Any) -> None:
    index.write("a.md", ["alpha"])
    with psycopg.connect(index.database.url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        before = reader.execute(f"SELECT count(*) FROM {index.generation.table}").fetchone()
        index.write("b.md", ["alpha"])
        with index.database.connect() as connection:
            statistics.fold(connection, least=1)
        held = reader.execute("SELECT sum(chunks) FROM term_statistic WHERE term = 'alpha'").fetchone()
    assert before == (1,)
    assert held == (1,)


def test_statistics_of_retired_generations_go(index: Any) -> None:
    index.write("a.md", ["alpha"])
    other = index.add_generation("fake/second-32")
    with index.database.connect() as connection:
        connection.execute("UPDATE generation SET state = 'retired' WHERE id = %s", (other.id,))
        statistics.fold(connection, least=1)
        assert connection.execute(
            "SELECT DISTINCT generation_id FROM term_statistic UNION SELECT generation_id FROM locale_statistic"
        ).fetchall() == [(index.generation.id,)]
        assert [made.id for made in generations.live_generations(connection)] == [index.generation.id]


def test_a_move_keeps_every_row_out_of_the_indexes(index: Any) -> None:
    passages = [f"{' '.join(WORDS)} number {number} " * 8 for number in range(100)]
    index.write("a/one.md", passages, title="Same")
    index.move("a/one.md", "b/two.md")
    with index.database.connect(autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s", (index.generation.table,)
        ).fetchone()
    assert row == (100, 100)
