"""Waiting for a hosted provider: one pace for all workers, and trying again for as long as patience lasts."""

import time
from collections.abc import Callable
from threading import Event, Lock
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type
from tenacity.wait import wait_random_exponential

from pipelines.embedding.http import ProviderBusy
from pipelines.errors import ProviderUnavailable

Result = TypeVar("Result")

BACKOFF = wait_random_exponential(multiplier=0.5, max=30)
"""Full jitter: from 0 to 0.5, 1, 2 ... 30 seconds, where the server does not say how long."""


class Stopped(ProviderBusy):
    """Not asked: another worker failed, or the caller left."""


class Pace:
    """A rate limit that worker threads share.

    `requests` and `tokens` are limits a minute, None for no limit. `hold` makes every worker wait, as a server's
    Retry-After asks.
    """

    def __init__(self, *, requests: int | None = None, tokens: int | None = None) -> None:
        self._seconds_a_request = 60 / requests if requests else 0.0
        self._seconds_a_token = 60 / tokens if tokens else 0.0
        self._next = 0.0
        self._held = 0.0
        self._lock = Lock()

    def wait(self, tokens: int, *, stop: Event) -> None:
        """Sleep until a request of this many tokens may start, or until `stop` is set."""
        while not stop.is_set():
            with self._lock:
                now = time.monotonic()
                start = max(self._next, self._held)
                if start <= now:
                    self._next = now + max(self._seconds_a_request, tokens * self._seconds_a_token)
                    return
            stop.wait(start - now)

    def hold(self, seconds: float) -> None:
        """Let no worker start a request for this long."""
        with self._lock:
            self._held = max(self._held, time.monotonic() + seconds)


def with_patience(call: Callable[[], Result], *, pace: Pace, tokens: int, patience: float, stop: Event) -> Result:
    """Call, and again after ProviderBusy, for at most `patience` seconds of waiting and trying.

    What the server asks for by Retry-After is waited for by all workers of `pace`; otherwise the wait grows, with
    jitter. `stop` ends the waiting early. Raises ProviderUnavailable after the bound, or at once when the server asks
    for more than is left of it.
    """
    began = time.monotonic()

    def attempt() -> Result:
        pace.wait(tokens, stop=stop)
        if stop.is_set():
            raise Stopped("stopped because another request failed")
        return call()

    def wait(state: RetryCallState) -> float:
        asked = _retry_after(state)
        if asked is None:
            return float(BACKOFF(state))
        pace.hold(asked)
        return 0.0  # `pace.wait` does the waiting

    def enough(state: RetryCallState) -> bool:
        return stop.is_set() or time.monotonic() - began + (_retry_after(state) or 0.0) > patience

    def give_up(state: RetryCallState) -> Result:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, Stopped):
            raise error
        raise ProviderUnavailable(
            f"{error}; gave up after {state.attempt_number} tries in {time.monotonic() - began:.0f} s. "
            "What was embedded so far is kept: run it again later"
        ) from error

    def sleep(seconds: float) -> None:
        stop.wait(seconds)

    retrying = Retrying(
        retry=retry_if_exception_type(ProviderBusy),
        wait=wait,
        stop=enough,
        sleep=sleep,
        retry_error_callback=give_up,
    )
    return retrying(attempt)


def _retry_after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, ProviderBusy) else None
