"""Killed at random points and run again: the same table, and nothing that was stored is asked for again (B21)."""

import multiprocessing
import random
import time
from collections import Counter
from multiprocessing.process import BaseProcess

from tests.integration.generations.conftest import Bench

A, B = "fake/a-64", "fake/b-96"
KILLS = 20
NOTES = 400


def test_killed_twenty_times_it_ends_in_the_same_table(bench: Bench) -> None:
    bench.seed(NOTES, folders=5)
    bench.work(A)
    chance = random.Random(4)
    repeated: Counter[str] = Counter()
    for _ in range(KILLS):
        stored = _stored(bench)
        before = bench.asked(B)
        process = _start(bench)
        _let_it_work(bench, process, before, chance)
        process.kill()
        process.join()
        repeated += Counter(text for text in bench.asked(B) - before if text in stored)
    bench.work(B)
    assert bench.states() == {A: "previous", B: "active"}
    assert not repeated, "what was stored before a run is not asked for again by it"
    assert len(_stored(bench)) == NOTES
    in_flight = bench.asked(B).total() - NOTES
    assert in_flight <= 64 * KILLS, "a kill loses at most the batch that is under way"
    disturbed = bench.table(bench.generation(B).id)

    bench.work(A)
    bench.execute("UPDATE generation SET left_at = now() - interval '30 days' WHERE state = 'previous'")
    bench.work(A)
    bench.execute("DELETE FROM embedding WHERE fingerprint = %s", bench.generation(B).fingerprint)
    bench.work(B)
    assert bench.states()[B] == "active"
    assert bench.table(bench.generation(B).id) == disturbed, "an undisturbed run gives the same rows"


def _start(bench: Bench) -> BaseProcess:
    process = multiprocessing.get_context("fork").Process(target=bench.work, args=(B,))
    process.start()
    return process


def _stored(bench: Bench) -> set[str]:
    statement = "SELECT e.text_hash FROM embedding e JOIN generation g USING (fingerprint) WHERE g.model = %s"
    return {row[0] for row in bench.rows(statement, B)}


def _let_it_work(bench: Bench, process: BaseProcess, before: Counter[str], chance: random.Random) -> None:
    """Half of the time kill it while it begins, else once it has begun to embed or to publish; then a moment later."""
    published = "SELECT count(*) FROM publication WHERE generation_id > 1"
    rows = bench.value(published)
    deadline = time.monotonic() + 30
    while chance.random() < 0.9 and process.is_alive() and time.monotonic() < deadline:
        if bench.asked(B) != before or bench.value(published) != rows:
            break
    time.sleep(chance.uniform(0.0, 0.08))
