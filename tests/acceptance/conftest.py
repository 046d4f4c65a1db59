"""Whole programs as a person runs them: subprocesses with their own home, and a real browser."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright

from pipelines.storage import server

REPOSITORY = Path(__file__).resolve().parents[2]
ARTIFACTS = REPOSITORY / "tests" / "artifacts"
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def home() -> Iterator[Path]:
    """A VAULTLINE_HOME of its own, whose embedded server is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="vl-"))
    yield folder
    server.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A copy of the example vault that a test may edit."""
    return shutil.copytree(REPOSITORY / "examples" / "vault", tmp_path / "vault")


@pytest.fixture
def environment(home: Path, vault: Path) -> dict[str, str]:
    """What a user's shell has set: a vault and a home."""
    return shell(home, vault)


def shell(home: Path, vault: Path) -> dict[str, str]:
    """The environment of a shell that names a vault and a home."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DAGSTER", "PYTEST"))}
    return environment | {
        "VAULTLINE_HOME": str(home),
        "VAULT_PATH": str(vault),
        "DAGSTER_HOME": str(home / "dagster"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
    }


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a program in its own process group; at the end the group is stopped by its id."""
    with starting(environment, tmp_path) as run:
        yield run


@contextlib.contextmanager
def starting(environment: dict[str, str], logs: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start programs whose output goes to a folder; they are stopped when the block ends."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*command: str, cwd: Path = REPOSITORY) -> subprocess.Popen[bytes]:
        log = (logs / f"{len(started)}-{Path(command[0]).name}.log").open("wb")
        process = subprocess.Popen(
            command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        started.append(process)
        return process

    try:
        yield run
    finally:
        for process in started:
            for stop in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, stop)
                    process.wait(timeout=20)
                except ProcessLookupError:
                    break
                except subprocess.TimeoutExpired:
                    continue


@pytest.fixture
def run(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program to its end."""

    def finish(*command: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=240
        )
        assert expect is None or done.returncode == expect, f"{command}: {done.stdout}\n{done.stderr}"
        return done

    return finish


@pytest.fixture
def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def free_ports(number: int) -> list[int]:
    """Different ports of the loopback that nobody listens on."""
    listeners = [socket.socket() for _ in range(number)]
    try:
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium, the one that the machine has.

    Never wider than a module: while Playwright's sync API is open, an event loop counts as running in this thread,
    and every later test that starts one of its own would fail.
    """
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        pytest.skip("no Chromium on this machine: browser tests need one")
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield instance
        instance.close()


def wait_for(what: Callable[[], object], *, seconds: float, process: subprocess.Popen[bytes] | None = None) -> object:
    """Ask until the answer is true; fails when the time is over or the process has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process is None or process.poll() is None, "the program has ended"
        try:
            if answer := what():
                return answer
        except httpx.HTTPError:
            pass
        time.sleep(0.3)
    raise AssertionError(f"nothing within {seconds} seconds")
