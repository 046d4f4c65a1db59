"""Indexes uploads beside a server: in a process of its own, one sync at a time.

In a process of its own, because Dagster, the parsers and the model would take their memory and their turns from the
searches. It stays a while, so that the next upload does not wait for all of that to be loaded again. Its syncs are
recorded in Dagster as every sync is, and what it has done when it is killed is kept.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from pathlib import Path

import psutil

from pipelines.settings import Settings

_PAUSES = (5.0, 30.0, 120.0, 600.0)
"""Seconds before a sync that failed is tried again, after the first failure, the second and so on."""

_STAYS = 120.0
"""Seconds that the process waits for the next upload."""

_NICE = 5  # searches come first
_GRACE = 10.0  # seconds that an interrupted sync has to end

_log = logging.getLogger(__name__)


class Indexer:
    """Safe to ask as often as one likes: whatever is asked for while a sync goes on is one more sync."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._syncing = False
        self.runs = 0
        """Syncs that have ended."""
        self.failed = False
        """Whether the last one failed; it is tried again by itself."""

    @property
    def is_busy(self) -> bool:
        """Whether a sync goes on, is about to, or is tried again after a pause."""
        return self._syncing or self._wanted.is_set() or self.failed

    def ask(self) -> None:
        """Have the folder indexed, soon. Call it in the server's event loop."""
        self._wanted.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work(), name="index uploads")

    async def close(self) -> None:
        """Interrupt a sync that goes on, and end the process."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _work(self) -> None:
        while self._wanted.is_set():
            try:
                await self._serve()
            finally:
                await self._end()  # and again, if somebody has asked meanwhile

    async def _serve(self) -> None:
        """Sync whenever asked, until nobody has asked for a while."""
        failures = 0
        while await self._is_asked(_PAUSES[min(failures, len(_PAUSES)) - 1] if failures else _STAYS) or failures:
            self._wanted.clear()
            self._syncing = True
            try:
                self.failed = not await self._sync()
            finally:
                self._syncing = False
            self.runs += 1
            failures = failures + 1 if self.failed else 0

    async def _is_asked(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._wanted.wait(), seconds)
        return False

    async def _sync(self) -> bool:
        """One sync; True if it did all it could."""
        try:
            if self._process is None:
                self._process = await self._start()
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(b"sync\n")
            await self._process.stdin.drain()
            answer = json.loads(await self._process.stdout.readline() or "{}")
        except (OSError, ValueError) as error:
            _log.error("uploads could not be indexed: %s", error)
            return False
        if "done" not in answer:
            process, self._process = self._process, None
            _log.error("uploads could not be indexed: the process ended with exit code %s", await process.wait())
            return False
        if not answer["done"]:
            _log.error("uploads could not be indexed: %s", answer["reason"])
        return bool(answer["done"])

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the working directory may be the vault, and a file of the vault is not ours to run
            "-m",
            "pipelines.upload_worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_environment(self._settings),
            start_new_session=True,  # Ctrl-C is for the server, which then interrupts it
        )
        with contextlib.suppress(psutil.Error):
            psutil.Process(process.pid).nice(_NICE)
        return process

    async def _end(self) -> None:
        """End the process: at once if it has nothing to do, else with what it is at interrupted."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
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
