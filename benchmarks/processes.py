"""Run a whole process and tell what it took: wall and processor seconds, and the most memory."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """`seconds` is wall time, `cpu` user and system time with children, `memory` the largest resident set in MB."""

    seconds: float
    cpu: float
    memory: float
    output: str


def run(command: Sequence[str], *, environment: Mapping[str, str], cwd: Path | None = None) -> Run:
    """Run a command to its end, from cold: nothing of an earlier run is in this process.

    Raises RuntimeError with the command's last words if it fails; exit code 3 (done, something quarantined) is none.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        command, env=dict(environment), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output, errors = "", ""
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        output = process.stdout.read()
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    if code not in (0, 3):
        raise RuntimeError(f"{' '.join(command)} ended with {code}: {errors.strip()[-2000:]}")
    return Run(
        seconds=round(seconds, 3),
        cpu=round(usage.ru_utime + usage.ru_stime, 3),
        memory=round(usage.ru_maxrss / 1024, 1),
        output=output,
    )
