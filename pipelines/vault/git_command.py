"""Running git so that no configuration, the user's or the repository's, changes what we read or runs a program."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

# What `git rev-parse --local-env-vars` names, without the two that carry configuration on purpose: git sets these
# while it runs a hook, and they would point every command at the repository of the hook.
_FOREIGN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_PAGER",
)
_QUIET = (
    "-c",
    "core.fsmonitor=false",  # could name a program
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "log.showSignature=false",  # would run gpg
    "-c",
    "log.showRoot=true",
    "-c",
    "maintenance.auto=false",
    "-c",
    "gc.auto=0",
    "-c",
    "advice.detachedHead=false",
)


class GitMissing(Exception):
    """There is no git on this machine."""


def environment(**extra: str) -> dict[str, str]:
    """The process's environment for a git that asks nothing, writes nothing aside and speaks English."""
    inherited = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**inherited, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "C", **extra}


def command(folder: Path, arguments: Sequence[str]) -> list[str]:
    """Command line of git in a folder."""
    return ["git", "--no-pager", "-C", str(folder), *_QUIET, *arguments]


def run(
    folder: Path,
    *arguments: str,
    timeout: float,
    extra: dict[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Run git and wait. Its exit status is the caller's to judge. Raises GitMissing and subprocess.TimeoutExpired.

    git gets a session of its own: ssh then finds no terminal to ask for a password, and when time is up, or on Ctrl-C,
    the programs that git started end with it. Any of them left alive would hold our pipe open.
    """
    line = command(folder, arguments)
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env=environment(**(extra or {})),
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except FileNotFoundError as error:
        raise GitMissing("git is not installed or not on PATH") from error
    with process:
        try:
            output, message = process.communicate(timeout=timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(line, process.returncode, output, message)


def in_work_tree(folder: Path) -> bool:
    """True when the folder or one above it holds a `.git`. No process is started."""
    real = folder.resolve()
    return any((parent / ".git").exists() for parent in (real, *real.parents))
