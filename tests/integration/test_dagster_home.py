"""Dagster's records on this machine: made once, however many processes need them first."""

import subprocess
import sys
from pathlib import Path

OPEN = """
import sys, time
from pathlib import Path
import dagster as dg
from pipelines.dagster_home import open_instance
from pipelines.settings import Settings

home = Path(sys.argv[1])
settings = Settings.load(_env_file=None, vaultline_home=home)
(home / f"ready-{sys.argv[2]}").touch()
while not (home / "go").exists():
    time.sleep(0.001)
with open_instance(settings) as instance:
    instance.add_dynamic_partitions("folders", [sys.argv[2]])
    instance.get_run_records()
    instance.all_instigator_state()
"""


def test_processes_that_need_a_fresh_home_at_once_take_turns(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    command = [sys.executable, "-c", OPEN, str(tmp_path)]
    running = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in names]
    while not all((tmp_path / f"ready-{name}").exists() for name in names):
        assert all(process.poll() is None for process in running)
    (tmp_path / "go").touch()
    told = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], told
