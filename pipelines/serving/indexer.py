"""Indexes uploads beside a server: `vaultline sync` of their folder in a process of its own, one at a time.

In a process of its own, because Dagster, the parsers and the model would take their memory and their turns from the
searches. It is recorded in Dagster as every sync is, and what it has done when it is killed is kept.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

import psutil

from pipelines.settings import Settings
from pipelines.vault.folders import UPLOADS

_PAUSES = (5.0, 30.0, 120.0, 600.0)
"""Seconds before a sync that failed is tried again, after the first failure, the second and so on."""

_QUARANTINED = 3  # exit code: done, but something is in quarantine
_NICE = 5  # searches come first
_GRACE = 10.0  # seconds that an interrupted sync has to end

_log = logging.getLogger(__name__)


class Indexer:
    """Safe to ask as often as one likes: whatever is asked for while a sync goes on is one more sync."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._wanted = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self.runs = 0
        """Syncs that have ended."""
        self.failed = False
        """Whether the last one failed; it is tried again by itself."""

    @property
    def is_busy(self) -> bool:
        """Whether a sync goes on or is about to."""
        return self._worker is not None and not self._worker.done()

    def ask(self) -> None:
        """Have the folder indexed, soon. Call it in the server's event loop."""
        self._wanted.set()
        if not self.is_busy:
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="index uploads")

    async def close(self) -> None:
        """Interrupt a sync that goes on."""
        if self._worker is not None:
            self._worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker

    async def _work(self) -> None:
        failures = 0
        while self._wanted.is_set():
            self._wanted.clear()
            self.failed = not await self._sync()
            self.runs += 1
            if not self.failed:
                failures = 0
                continue
            pause = _PAUSES[min(failures, len(_PAUSES) - 1)]
            failures += 1
            with contextlib.suppress(TimeoutError):  # a new upload need not wait for the end of the pause
                await asyncio.wait_for(self._wanted.wait(), pause)
            self._wanted.set()

    async def _sync(self) -> bool:
        """Run it; True if it did all it could."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # the working directory may be the vault, and a file of the vault is not ours to run
                *("-m", "pipelines.cli", "sync", "--folder", UPLOADS, "--json"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=_environment(self._settings),
                start_new_session=True,  # Ctrl-C is for the server, which then interrupts it
            )
        except OSError as error:
            _log.error("uploads cannot be indexed: no process: %s", error.strerror)
            return False
        with contextlib.suppress(psutil.Error):
            psutil.Process(process.pid).nice(_NICE)
        try:
            _, said = await process.communicate()
        except asyncio.CancelledError:
            await _interrupt(process)
            raise
        if process.returncode in (0, _QUARANTINED):
            return True
        last = (said.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
        _log.error("uploads could not be indexed (exit code %s): %s", process.returncode, last)
        return False


async def _interrupt(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)
            return


def _environment(settings: Settings) -> dict[str, str]:
    package_root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    return {**os.environ, **settings.environment(), "PYTHONPATH": path}
