"""Blocking work is bounded in number and time."""

from threading import Event, get_ident

import anyio
import pytest

from pipelines.serving.workers import Overloaded, TookTooLong, Workers


def test_work_runs_in_a_thread_and_its_errors_arrive() -> None:
    async def run() -> None:
        workers = Workers(limit=2, seconds=30)
        assert await workers.run(get_ident) != get_ident()
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0)
        workers.close()

    anyio.run(run)


def test_more_work_than_places_is_refused_at_once_and_a_place_comes_free() -> None:
    release = Event()

    async def run() -> None:
        workers = Workers(limit=2, seconds=30)
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(workers.run, lambda: release.wait(5))
            await anyio.sleep(0)
            await anyio.sleep(0)
            with pytest.raises(Overloaded):
                await workers.run(lambda: None)
            release.set()
        assert await workers.run(lambda: 7) == 7
        workers.close()

    anyio.run(run)


def test_work_that_takes_too_long_keeps_its_place_until_it_ends() -> None:
    release = Event()

    async def run() -> None:
        workers = Workers(limit=1, seconds=0.05)
        with pytest.raises(TookTooLong):
            await workers.run(lambda: release.wait(5))
        with pytest.raises(Overloaded):
            await workers.run(lambda: None)
        release.set()
        for _ in range(500):
            try:
                assert await workers.run(lambda: 7) == 7
                break
            except Overloaded:
                await anyio.sleep(0.01)
        else:
            pytest.fail("the place never came free")
        workers.close()

    anyio.run(run)
