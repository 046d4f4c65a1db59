"""One pace for all workers, and a bound to patience. Time is measured from below only: no test needs a fast machine."""

import threading
import time

import pytest

from pipelines.embedding.http import ProviderBusy
from pipelines.embedding.retrying import Pace, Stopped, with_patience
from pipelines.errors import ProviderRefused, ProviderUnavailable


def failing(times: int, *, retry_after: float | None = None):
    calls: list[float] = []

    def call() -> str:
        calls.append(time.monotonic())
        if len(calls) <= times:
            raise ProviderBusy("busy", retry_after=retry_after)
        return "done"

    return call, calls


def run(call, *, pace: Pace | None = None, patience: float = 60, stop: threading.Event | None = None) -> str:
    return with_patience(call, pace=pace or Pace(), tokens=1, patience=patience, stop=stop or threading.Event())


def test_tries_again_until_it_works() -> None:
    call, calls = failing(2)
    assert run(call) == "done"
    assert len(calls) == 3


def test_other_errors_are_not_tried_again() -> None:
    calls = []

    def call() -> str:
        calls.append(1)
        raise ProviderRefused("no")

    with pytest.raises(ProviderRefused, match="no"):
        run(call)
    assert len(calls) == 1


def test_waits_what_the_server_asks_for() -> None:
    call, calls = failing(1, retry_after=0.3)
    run(call)
    assert calls[1] - calls[0] >= 0.29


def test_the_wait_is_shared() -> None:
    pace = Pace()
    call, _ = failing(1, retry_after=0.4)
    began = time.monotonic()
    thread = threading.Thread(target=run, args=(call,), kwargs={"pace": pace})
    thread.start()
    time.sleep(0.1)
    other, calls = failing(0)
    run(other, pace=pace)
    thread.join()
    assert calls[0] - began >= 0.39


def test_gives_up_after_the_bound_and_says_so() -> None:
    call, calls = failing(10_000)
    with pytest.raises(ProviderUnavailable, match=r"busy; gave up after \d+ tries") as caught:
        run(call, patience=0.5)
    assert len(calls) > 1
    assert isinstance(caught.value.__cause__, ProviderBusy)


def test_no_patience_is_one_try() -> None:
    call, calls = failing(10_000)
    with pytest.raises(ProviderUnavailable):
        run(call, patience=0)
    assert len(calls) == 1


def test_asked_to_wait_for_longer_than_patience() -> None:
    call, calls = failing(10_000, retry_after=100)
    with pytest.raises(ProviderUnavailable):
        run(call, patience=5)
    assert len(calls) == 1


def test_stop_ends_the_waiting() -> None:
    stop = threading.Event()
    pace = Pace()
    pace.hold(60)
    threading.Timer(0.1, stop.set).start()
    call, calls = failing(0)
    with pytest.raises(Stopped):
        run(call, pace=pace, stop=stop)
    assert calls == []


def test_requests_a_minute() -> None:
    pace = Pace(requests=1_200)
    times = []
    for _ in range(5):
        pace.wait(1, stop=threading.Event())
        times.append(time.monotonic())
    assert times[-1] - times[0] >= 4 * 0.05 - 0.005


def test_tokens_a_minute() -> None:
    pace = Pace(tokens=60_000)
    began = time.monotonic()
    for _ in range(3):
        pace.wait(100, stop=threading.Event())
    assert time.monotonic() - began >= 0.19
