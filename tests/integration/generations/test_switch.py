"""The switch among readers and writers that are in its way."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pipelines.errors import DatabaseError, GenerationError
from pipelines.generations import promotion
from pipelines.storage import generations, switching
from pipelines.storage.database import Connection
from tests.integration.generations.conftest import Bench

A, B = "fake/a-64", "fake/b-64"


@pytest.fixture
def ready(bench: Bench) -> Bench:
    bench.seed()
    bench.work(A)
    bench.work(B, generation_auto_promote=False)
    return bench


@contextmanager
def _in_the_way(bench: Bench, statement: str) -> Iterator[Connection]:
    """A transaction that has done something and does not end."""
    with bench.database.connect() as connection:
        connection.execute(statement)  # type: ignore[arg-type]
        yield connection


def test_a_long_reader_is_named_and_nothing_is_changed(ready: Bench) -> None:
    with (
        _in_the_way(ready, "SELECT count(*) FROM knowledge"),
        pytest.raises(GenerationError, match=r"read in a transaction that does not end: process \d+ \(vaultline"),
    ):
        switching.switch_to(ready.database, 2, event="promoted", detail={}, patience=0.3)
    assert ready.states() == {A: "active", B: "building"}


def test_readers_pass_while_the_switch_waits_for_a_long_one(ready: Bench) -> None:
    """With a plain CREATE OR REPLACE VIEW every later reader would queue up behind it."""
    results: list[object] = []

    def switch() -> None:
        results.append(switching.switch_to(ready.database, 2, event="promoted", detail={}, patience=30))

    with _in_the_way(ready, "SELECT count(*) FROM knowledge"):
        thread = threading.Thread(target=switch)
        thread.start()
        deadline = time.monotonic() + 1.5
        passed = 0
        with ready.database.connect(autocommit=True) as connection:
            connection.execute("SET statement_timeout = '5s'")
            while time.monotonic() < deadline:
                connection.execute("SELECT count(*) FROM knowledge")
                passed += 1
        assert passed > 5
        assert not results
    thread.join()
    assert isinstance(results[0], switching.Switch)
    assert results[0].attempts > 1
    assert ready.states() == {A: "previous", B: "active"}


def test_a_reader_in_a_transaction_sees_one_generation_throughout(ready: Bench) -> None:
    with ready.database.connect() as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        before = generations.active_generation(connection)
        switching.switch_to(ready.database, 2, event="promoted", detail={})
        after = generations.active_generation(connection)
        assert before == after
        assert after is not None
        assert connection.execute("SELECT count(*) FROM knowledge_g1").fetchone() == (6,)


def test_a_writer_that_is_publishing_is_waited_for(ready: Bench) -> None:
    with ready.database.connect() as writer:
        generations.share_switch_lock(writer)
        with pytest.raises(GenerationError, match="writers did not pause"):
            switching.switch_to(ready.database, 2, event="promoted", detail={}, patience=0.2)
    assert ready.states()[A] == "active"


def test_publishing_to_a_retired_generation_writes_nothing(ready: Bench) -> None:
    """A worker that read the list of generations before the switch must not fail, nor write where nobody looks."""
    stale = ready.generation(B)
    promotion.retire(ready.database, stale.id)
    with ready.database.connect() as connection:
        assert generations.publish(connection, stale, [1, 2]) == (0, 0, 0)


def test_the_view_keeps_its_columns_and_what_depends_on_it(ready: Bench) -> None:
    ready.execute("CREATE VIEW report AS SELECT source, count(*) AS chunks FROM knowledge GROUP BY source")
    columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'knowledge' ORDER BY 1"
    before = ready.rows(columns)
    switching.switch_to(ready.database, 2, event="promoted", detail={})
    assert ready.rows(columns) == before
    assert ready.value("SELECT sum(chunks) FROM report") == 6


def test_two_promotions_at_once_are_one(ready: Bench) -> None:
    outcomes: list[str] = []

    def promote() -> None:
        try:
            promotion.promote(ready.database, ready.under(B), 2)
        except GenerationError as error:
            outcomes.append(str(error))
        else:
            outcomes.append("promoted")

    threads = [threading.Thread(target=promote) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("promoted") == 1
    assert ready.value("SELECT count(*) FROM generation_event WHERE event = 'promoted' AND generation_id = 2") == 1


def test_at_most_one_building_and_one_active_by_constraint(ready: Bench) -> None:
    second = "INSERT INTO generation (model, fingerprint, spec, dimensions, state) VALUES ('m', 'f', '{}', 3, %s)"
    for state in ("building", "active"):
        with pytest.raises(DatabaseError, match="generation_one_"):
            ready.execute(second, state)
