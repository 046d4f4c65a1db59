"""A sync that is killed at any moment, two syncs at once, and a reader that watches: promises 1, 2 and 3.

VAULTLINE_KILLS (5) and VAULTLINE_RANDOM_SEED make it longer and repeatable.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable

import pytest

from pipelines.embedding.fake import BATCH
from tests.integration.sync.living_vault import LivingVault, long_note, note, start

Converged = Callable[[LivingVault], None]
KILLS = int(os.environ.get("VAULTLINE_KILLS", 4))
SEED = int(os.environ.get("VAULTLINE_RANDOM_SEED", 0)) or time.time_ns() % 1_000_000
NOTES = 150


def _fill(vault: LivingVault, notes: int = NOTES) -> None:
    for number in range(notes):
        text = long_note(f"Note {number}", 2 + number % 3, seed=f"s{number}")
        vault.write(f"folder {number % 5}/n{number}.md", text)


@pytest.mark.slow
def test_killed_again_and_again(vault: LivingVault, converged: Converged) -> None:
    """Every kill may cost the batch that was in the model's hands, and nothing else is made twice."""
    _fill(vault)
    chance = random.Random(SEED)
    killed = 0
    for _ in range(KILLS):
        process = start(vault, "sync")
        # From the first moments of the run to its end, wherever that is on this machine: what it has done tells.
        done = f"SELECT count(*) FROM {chance.choice(['parsed', 'chunk', 'embedding', 'publication'])}"  # noqa: S608
        wanted = vault.value(done) + chance.randrange(1, 60)
        while process.poll() is None and vault.value(done) < wanted:
            time.sleep(0.01)
        if process.poll() is None:
            process.kill()
            killed += 1
        process.communicate()
    assert killed, f"seed {SEED}: nothing was killed"
    vault.sync()
    counted = vault.embedded()
    again = counted.total() - len(counted)
    assert again <= killed * BATCH, f"seed {SEED}: {again} texts embedded twice after {killed} kills"
    assert len(counted) == vault.value("SELECT count(DISTINCT text_hash) FROM chunk")
    assert vault.value("SELECT count(*) FROM generation WHERE state = 'active'") == 1
    converged(vault)


@pytest.mark.slow
def test_two_syncs_at_once(vault: LivingVault, converged: Converged) -> None:
    """Two processes share the work: nothing is embedded twice, neither waits for ever, the index is the same."""
    _fill(vault)
    processes = [start(vault, "sync", "--json") for _ in range(2)]
    answers = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    counted = vault.embedded()
    assert counted.total() == len(counted) == vault.value("SELECT count(DISTINCT text_hash) FROM chunk")

    for number in range(0, NOTES, 2):
        vault.write(f"folder {number % 5}/n{number}.md", note(f"Note {number}", f"Edited {number}."))
    for number in range(1, 30, 2):
        vault.move(f"folder {number % 5}/n{number}.md", f"moved {number % 3}/n{number}.md")
    processes = [start(vault, "sync", "--json") for _ in range(2)]
    answers = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    assert vault.embedded().total() == len(vault.embedded())
    converged(vault)


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_done(vault: LivingVault, converged: Converged) -> None:
    _fill(vault, 60)
    process = start(vault, "sync")
    while process.poll() is None and not vault.value("SELECT count(*) FROM parsed"):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert "interrupted" in err
    vault.sync()
    converged(vault)


@pytest.mark.slow
def test_a_reader_sees_the_old_or_the_new_text_never_half(vault: LivingVault) -> None:
    """Promise 2, with the reader's eyes: every version's chunks carry its number, and all of them the same one."""
    sections = 6

    def version(number: int) -> str:
        body = "\n\n".join(
            f"## Section {part}\n\nVersion{number:03d} " + " ".join(f"w{part}x{word}" for word in range(60))
            for part in range(sections + number % 3)
        )
        return f"# Watched\n\nVersion{number:03d} begins.\n\n{body}\n"

    vault.write("watched.md", version(0))
    for number in range(5):
        vault.write(f"other{number}.md", note(f"Other {number}", "Text."))
    vault.sync()
    wrong: list[object] = []
    seen: set[str] = set()
    stop = threading.Event()

    def watch() -> None:
        with vault.database.connect(autocommit=True) as connection:
            while not stop.is_set():
                rows = connection.execute(
                    "SELECT substring(content FROM 'Version[0-9]{3}'), ordinal FROM knowledge "
                    "WHERE source = 'watched.md' ORDER BY ordinal"
                ).fetchall()
                versions = {str(row[0]) for row in rows}
                seen.update(versions)
                if len(versions) != 1 or [row[1] for row in rows] != list(range(len(rows))):
                    wrong.append(rows)

    reader = threading.Thread(target=watch)
    reader.start()
    try:
        for number in range(1, 7):
            vault.write("watched.md", version(number))
            vault.sync()
    finally:
        stop.set()
        reader.join()
    assert not wrong, wrong[0]
    assert len(seen) >= 6
