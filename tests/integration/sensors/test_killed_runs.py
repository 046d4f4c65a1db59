"""Runs whose process is gone: none of them may keep its folders waiting, and no living one may be taken for dead."""

import os
import subprocess
import sys
from collections.abc import Iterator

import dagster as dg
import psutil
import pytest

from pipelines.run_process import TAG, bury, this_process
from tests.integration.sensors.conftest import Daemon
from tests.integration.sync.living_vault import LivingVault, backdate, note

WAITING = (dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)


def _gone() -> str:
    """The tag of a process that is not there any more."""
    return this_process()[TAG].replace(f"/{os.getpid()}/", f"/{max(psutil.pids()) + 1000}/")


def _run(daemon: Daemon, status: dg.DagsterRunStatus, process: str, **more: str) -> dg.DagsterRun:
    job = daemon.definitions.resolve_job_def("index")
    return daemon.instance.create_run_for_job(job, status=status, tags={"dagster/partition": "a", TAG: process}, **more)


@pytest.fixture
def edited(vault: LivingVault, daemon: Daemon) -> Daemon:
    """A daemon on a folder with work."""
    backdate([vault.write("a/n.md", note("N", "Text."))])
    daemon.instance.add_dynamic_partitions("vault_folders", ["a"])
    return daemon


@pytest.mark.parametrize("status", WAITING)
def test_killed_at_any_moment_of_its_start_it_blocks_nothing(edited: Daemon, status: dg.DagsterRunStatus) -> None:
    """A sync writes its run down first and starts it then: a kill in between left it waiting for ever."""
    killed = _run(edited, status, _gone())
    told = edited.tick()
    record = edited.instance.get_run_by_id(killed.run_id)
    assert record is not None
    assert record.status == dg.DagsterRunStatus.FAILURE
    assert "a run of it is not finished" not in str(told.skip_message)


@pytest.mark.parametrize("status", WAITING)
def test_a_living_process_keeps_its_run(edited: Daemon, status: dg.DagsterRunStatus) -> None:
    going = _run(edited, status, this_process()[TAG])
    assert bury(edited.instance, [going]) == [going]
    assert "a run of it is not finished" in str(edited.tick().skip_message)


def test_a_repeated_run_is_not_dead_because_the_first_one_is(edited: Daemon) -> None:
    """Dagster gives a re-execution the tags of its parent."""
    parent = _run(edited, dg.DagsterRunStatus.FAILURE, _gone())
    again = _run(
        edited,
        dg.DagsterRunStatus.NOT_STARTED,
        _gone(),
        parent_run_id=parent.run_id,
        root_run_id=parent.run_id,
    )
    assert bury(edited.instance, [again]) == [again]


@pytest.fixture
def unasked() -> Iterator[psutil.Process]:
    """A process that has ended and that its parent has not asked about."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = psutil.Process(child.pid)
    yield process
    child.communicate()


def test_a_killed_process_nobody_asked_about_is_dead(edited: Daemon, unasked: psutil.Process) -> None:
    tag = this_process()[TAG].rsplit("/", 2)[0] + f"/{unasked.pid}/{unasked.create_time():.0f}"
    run = _run(edited, dg.DagsterRunStatus.STARTED, tag)
    assert bury(edited.instance, [run]) == [run]
    unasked.kill()
    while unasked.status() != psutil.STATUS_ZOMBIE:
        pass
    assert bury(edited.instance, [run]) == []
