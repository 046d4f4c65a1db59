"""The chaos suite's short form; the long one is `make chaos`. VAULTLINE_RANDOM_SEED repeats one."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.chaos import VICTIMS, Chaos

SEED = int(os.environ.get("VAULTLINE_RANDOM_SEED", 0)) or time.time_ns() % 1_000_000
_AT_ONCE = 40
"""Texts that a kill may cost: what is in flight to the provider, 5 requests of 8."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, because a socket's path may have 107 bytes at most."""
    made = Path(tempfile.mkdtemp(prefix="vlc-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.slow
def test_whatever_is_killed_the_index_ends_as_a_clean_build(folder: Path) -> None:
    """One of each: the sync, the server, one of its processes, the provider, and the process of the daemon's run."""
    with Chaos(folder, SEED).running() as chaos:
        for victim in ("sync", "postgres", "backend", "provider"):
            _kill(chaos, victim)
        with chaos.daemon():
            _kill(chaos, "run")
        killed = {kill.victim for kill in chaos.kills}
        assert killed == set(VICTIMS), f"seed {SEED}: only {killed} were killed"
        try:
            chaos.compare()
        except AssertionError as error:
            raise AssertionError(f"VAULTLINE_RANDOM_SEED={SEED}, {chaos.kills}: {error}") from error
        assert chaos.paid_twice <= _AT_ONCE * len(chaos.kills)


def _kill(chaos: Chaos, victim: str) -> None:
    """Once; again if there was nothing to kill."""
    if not any(chaos.kill(victim) for _ in range(5)):
        raise AssertionError(f"seed {SEED}: no {victim} could be killed")
