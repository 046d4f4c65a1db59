"""Kill -9 what works on a vault that changes all the time, and compare with a clean build again and again.

    python -m benchmarks.chaos [--kills 200] [--seed N] [--every 10] [--json FILE]

What is killed: `vaultline sync`, the process of a run that Dagster's daemon started, the database server or one of its
processes, the embedding provider. The state is never reset: what one kill broke would show in every later comparison.
Ends with 1 at the first difference, and leaves everything in its folder for a look.
"""

import argparse
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.acceptance.chaos import Chaos

_BLOCK = ("sync",) * 10 + ("postgres", "backend", "provider") * 4
"""Kills of one block without the daemon: a sync is what is interrupted most in life, and the quickest to kill."""

_BLOCK_WITH_DAEMON = ("run",) * 4 + ("sync", "postgres")
"""And with it: then its runs, its sensors and a sync meet."""


def say(line: str) -> None:
    """Where it is, for who waits."""
    print(line, file=sys.stderr, flush=True)


def measure(folder: Path, *, kills: int, seed: int, every: int) -> dict[str, Any]:
    """Kill until there are enough; returns the figures. Raises AssertionError at the first difference."""
    chance = random.Random(seed)
    started = time.monotonic()
    comparisons = 0
    with Chaos(folder, seed).running() as chaos:

        def block(victims: Sequence[str]) -> None:
            nonlocal comparisons
            for victim in chance.sample(victims, len(victims)):
                if len(chaos.kills) == kills or (done := chaos.kill(victim)) is None:
                    continue
                number = len(chaos.kills)
                print(
                    f"{number:4} {done.victim:<9} {done.stage:<28} {done.seconds:6.1f} s", file=sys.stderr, flush=True
                )
                if number % every == 0 or number == kills:
                    chaos.compare()
                    comparisons += 1
                    say(f"     the same as a clean build ({comparisons})")

        while len(chaos.kills) < kills:
            block(_BLOCK)
            with chaos.daemon():
                block(_BLOCK_WITH_DAEMON)
        edits = len(chaos.editor.done)
    return {
        "kills": kills,
        "seed": seed,
        "comparisons": comparisons,
        "differences": 0,
        "edits": edits,
        "texts embedded": chaos.embedded,
        "embedded twice": chaos.paid_twice,
        "minutes": round((time.monotonic() - started) / 60, 1),
        "victims": dict(Counter(kill.victim for kill in chaos.kills)),
        "stages": dict(Counter(kill.stage for kill in chaos.kills).most_common()),
    }


def main() -> None:
    """Kill, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=10, help="kills between two comparisons")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing that it started is left behind
    folder = Path(tempfile.mkdtemp(prefix="vlc-"))  # short: a socket's path may have 107 bytes at most
    try:
        figures = measure(folder, kills=options.kills, seed=options.seed, every=options.every)
    except BaseException:
        print(f"left for a look: {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
