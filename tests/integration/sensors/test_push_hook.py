"""examples/git/post-receive: a push is indexed at once by the hook of the bare repository."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

from tests.acceptance.conftest import REPOSITORY
from tests.integration.sensors.test_git import Team
from tests.integration.sync.living_vault import LivingVault, environment, note


def test_a_push_runs_a_sync(vault: LivingVault, tmp_path: Path) -> None:
    team = Team(tmp_path)
    hook = Path(shutil.copy(REPOSITORY / "examples" / "git" / "post-receive", team.bare / "hooks" / "post-receive"))
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    surroundings = environment(vault.settings) | {"VAULT_PATH": "", "VAULTLINE_LOG": str(tmp_path / "hook.log")}
    surroundings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{surroundings['PATH']}"
    team.write("a/n0.md", note("Note", "Pushed and found."))
    team.git("add", "--all")
    team.git("commit", "--quiet", "--message", "First")
    subprocess.run(["git", "push", "--quiet", "origin", "main"], cwd=team.work, env=surroundings, check=True)
    deadline = time.monotonic() + 60
    while not vault.found("Pushed and found"):
        assert time.monotonic() < deadline, (tmp_path / "hook.log").read_text()
        time.sleep(0.2)
