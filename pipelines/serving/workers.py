"""Blocking work in threads, bounded in number and time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pipelines.errors import Transient, VaultlineError

T = TypeVar("T")


class Overloaded(VaultlineError, Transient):
    """All workers are busy."""


class TookTooLong(VaultlineError, Transient):
    """A piece of work did not end in its time."""


class Workers:
    """Runs at most `limit` pieces of work at a time, each answered for within `seconds`.

    With fewer `threads`, the rest of them wait for one. A thread cannot be stopped: work whose time is over keeps its
    place until it ends, so that a database that hangs fills the places and not the memory.
    """

    def __init__(self, *, limit: int, seconds: float, threads: int | None = None) -> None:
        self._limit = limit
        self._seconds = seconds
        self._busy = 0
        self._threads = ThreadPoolExecutor(threads or limit, thread_name_prefix="serve")

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, run in a thread. Raises Overloaded at once, TookTooLong, or what `work` raises."""
        if self._busy >= self._limit:
            raise Overloaded("the server is busy with other requests: try again in a moment")
        self._busy += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._ended)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            raise TookTooLong(f"no answer within {self._seconds:g} seconds") from None

    def close(self) -> None:
        """Take no more work, and do not wait for what hangs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, future: "asyncio.Future[T]") -> None:
        self._busy -= 1
        if not future.cancelled():
            future.exception()  # looked at, even where nobody waits for it any more
