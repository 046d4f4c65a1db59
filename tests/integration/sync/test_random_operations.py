"""Promise 1 under any order of edits: a random life of a vault ends where a clean build of it starts.

VAULTLINE_RANDOM_LIVES (how many, 1) and VAULTLINE_RANDOM_STEPS (operations each, 60) make it longer;
VAULTLINE_RANDOM_SEED repeats one. The seed is in every failure.
"""

import os
import time
from collections.abc import Callable

import pytest

from tests.integration.sync.living_vault import LivingVault
from tests.integration.sync.random_life import Life

Converged = Callable[[LivingVault], None]

SEED = int(os.environ.get("VAULTLINE_RANDOM_SEED", 0)) or time.time_ns() % 1_000_000
LIVES = int(os.environ.get("VAULTLINE_RANDOM_LIVES", 1))
STEPS = int(os.environ.get("VAULTLINE_RANDOM_STEPS", 60))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(LIVES))  # not the seed: every process of pytest-xdist has its own
def test_a_random_life_converges(vault: LivingVault, converged: Converged, number: int) -> None:
    seed = SEED + number
    life = Life(vault, seed)
    for _ in range(6):
        life.op_create()
    try:
        for _ in range(STEPS):
            life.step()
        vault.sync(allow_deletes=True)
        converged(vault)
    except Exception as error:
        story = "\n  ".join(life.done)
        raise AssertionError(f"VAULTLINE_RANDOM_SEED={seed}: {error}\n  {story}") from error
