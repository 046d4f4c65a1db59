"""Killed at random points and run again: the same table, and nothing that was stored is asked for again (B21)."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.integration.generations.conftest import Bench

A, B = "fake/a-64", "fake/b-96"
KILLS = 20
NOTES = 600

WORKER = """
import sys
from pipelines.settings import Settings
from pipelines.storage.database import Database
from tests.integration.generations.conftest import Bench
settings = Settings.load(_env_file=None)
Bench(settings, Database(settings.database_url.get_secret_value())).work(sys.argv[1])
"""


def _start(bench: Bench) -> subprocess.Popen[bytes]:
    settings = bench.settings
    assert settings.database_url is not None
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "VAULTLINE_HOME": str(settings.vaultline_home),
        "EMBEDDING_FAKE_LOG": str(settings.embedding_fake_log),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", WORKER, B], env=environment)


@pytest.mark.slow
def test_killed_twenty_times_it_ends_in_the_same_table(bench: Bench) -> None:
    bench.seed(NOTES, folders=5)
    bench.work(A)
    chance = random.Random(4)
    again: Counter[str] = Counter()
    kills = 0
    while bench.states().get(B) != "active":
        stored = {
            row[0]
            for row in bench.rows(
                "SELECT text_hash FROM embedding WHERE fingerprint <> %s", bench.generation(A).fingerprint
            )
        }
        asked = bench.asked(B)
        process = _start(bench)
        if kills < KILLS:
            _let_it_work(bench, process, asked, chance)
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait(timeout=120)
        again += Counter({text: 1 for text in (bench.asked(B) - asked) if text in stored})
    assert kills == KILLS
    assert not again, "what was stored before a run is not asked for again by it"
    assert (
        bench.value("SELECT count(*) FROM embedding WHERE fingerprint = %s", bench.generation(B).fingerprint) == NOTES
    )
    undisturbed = bench.generation(B).id
    disturbed = bench.table(undisturbed)
    bench.execute("DELETE FROM embedding WHERE fingerprint = %s", bench.generation(B).fingerprint)
    bench.work(A)
    bench.execute("UPDATE generation SET left_at = now() - interval '30 days' WHERE state = 'previous'")
    bench.work(A)
    bench.work(B)
    assert bench.states()[B] == "active"
    assert bench.table(bench.generation(B).id) == disturbed


def _let_it_work(bench: Bench, process: subprocess.Popen[bytes], asked: Counter[str], chance: random.Random) -> None:
    """Wait until it has begun to embed or to publish, and then for a random moment."""
    deadline = time.monotonic() + 60
    published = "SELECT count(*) FROM publication WHERE generation_id > 1"
    before = bench.value(published)
    while process.poll() is None and time.monotonic() < deadline:
        if bench.asked(B) != asked or bench.value(published) != before:
            break
        time.sleep(0.005)
    time.sleep(chance.uniform(0.0, 0.12))
