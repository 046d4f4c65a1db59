"""A vault that changes all the time, and kill -9 for everything that works on it, at random points under a seed.

What runs is what a user has: `vaultline sync` as a process, Dagster's daemon with its sensors and run workers, the
embedded PostgreSQL server, and a hosted embedding provider. What is asked at the end: does the index equal, row by row,
what a clean build of the same files gives? `test_chaos.py` does it shortly, `benchmarks/chaos.py` for hours.
"""

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from pipelines.dagster_home import open_instance
from pipelines.errors import VaultlineError
from pipelines.run_process import TAG, bury
from pipelines.sensors.indexing import UNFINISHED
from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from pipelines.sync import sync
from tests.convergence import assert_same_as_clean_build
from tests.integration.sync.living_vault import LivingVault, long_note
from tests.integration.sync.random_life import FOLDERS, NAMES, Life
from tests.servers.embedding_process import MODEL, REPOSITORY, EmbeddingProcess

VICTIMS = ("sync", "run", "postgres", "backend", "provider")
"""`run` is the process of a run that the daemon started; `postgres` is the database server, `backend` a child of it."""

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])  # imports are most of a short sync, and no work is in danger meanwhile
_QUIET = 0.3  # seconds that the sensor waits for a save to be over
_RUN_COMES = 45.0  # seconds until the daemon's next run has surely come, on a busy machine too


@dataclass(frozen=True)
class Kill:
    """One process that was killed. `stage`: where the work in flight was; `seconds`: what the round took."""

    victim: str
    stage: str
    seconds: float


class Editor(Life):
    """Edits at random moments, in a thread, except while it is asked to keep still."""

    def __init__(self, vault: LivingVault, seed: int) -> None:
        super().__init__(vault, seed)
        self.operations = [
            operation for operation in self.operations if not operation.__name__.startswith(("op_sync", "op_pipe"))
        ]
        self._still = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._edit, name="editor", daemon=True)

    @contextlib.contextmanager
    def editing(self) -> Iterator["Editor"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """No edits inside this block."""
        with self._still:
            yield

    def burst(self, notes: int = 14) -> None:
        """New text in several notes at once: some seconds of work for every stage."""
        with self._still:
            for _ in range(notes):
                name = f"{self.random.choice(FOLDERS)}{self.random.choice(NAMES)}{self.random.randrange(4)}.md"
                seed = f"b{self.random.randrange(10**6)}"
                self.vault.write(name, long_note("Ráfaga", self.random.randrange(2, 5), words=60, seed=seed))

    def _edit(self) -> None:
        pause = random.Random(0)
        while not self._stop.wait(pause.uniform(0.05, 0.5)):
            with self._still, contextlib.suppress(FileNotFoundError):
                self.step()


class Chaos:
    """One home, vault, server, provider and, while wanted, daemon; `seed` decides what is killed and when."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.kills: list[Kill] = []
        self.embedded, self.paid_twice = 0, 0  # texts: all, and those that were served more than once
        self._daemon: subprocess.Popen[bytes] | None = None
        self._normal = 0.0  # seconds that a sync takes here, measured as we go
        self._logged = 0
        self._databases = 0
        self._builds = 0
        self.provider = EmbeddingProcess(_free_port(), folder / "served.jsonl")
        vault = folder / "vault"
        vault.mkdir()
        self.home = folder / "home"
        self.environment = _environment(vault, self.home, self.provider.url)
        self.settings = _settings(vault, self.home, self.provider.url)

    @contextlib.contextmanager
    def running(self) -> Iterator["Chaos"]:
        """Start everything; at the end everything is stopped by its id."""
        self.provider.start()
        database = Database.from_settings(self.settings)
        vault = LivingVault(self.settings, database)
        self.editor = Editor(vault, self.random.randrange(10**6))
        self.editor.burst(30)
        try:
            sync(self.settings)
            self._make_template(database)
            self.editor.burst()
            started = time.monotonic()
            process = _PROCESSES.Process(target=_run_sync, args=(self.environment, self.folder / "sync.log"))
            process.start()
            process.join()
            self._normal = time.monotonic() - started
            with self.editor.editing():
                yield self
        finally:
            self.provider.kill()
            with contextlib.suppress(VaultlineError):
                server.stop(self.home)

    @contextlib.contextmanager
    def daemon(self) -> Iterator[None]:
        """Dagster's daemon, with its sensors and runs, inside this block."""
        self._start_daemon()
        try:
            yield
        finally:
            self._stop_daemon()

    def kill(self, victim: str) -> Kill | None:
        """One round: edits, work on them, and the end of one process in the middle of it. None: nothing to kill."""
        started = time.monotonic()
        self.provider.start()
        self.editor.burst()
        stage = self._kill_run() if victim == "run" else self._kill_around_a_sync(victim)
        if stage is None:
            return None
        done = Kill(victim, stage, round(time.monotonic() - started, 2))
        self.kills.append(done)
        return done

    def compare(self) -> None:
        """Let the work end, then compare with a clean build. Raises AssertionError with the first rows that differ."""
        self.provider.start()
        with self.editor.still():
            self._finish()
            served = self.provider.served(since=self._logged)
            self.embedded += served.total()
            self.paid_twice += served.total() - len(served)
            try:
                assert_same_as_clean_build(self.settings, new_database=self._new_database, home=self._new_home())
            finally:
                self._logged = self.provider.log.stat().st_size  # what the clean build asked for does not count

    def _kill_around_a_sync(self, victim: str) -> str | None:
        words = self.folder / "sync.log"
        words.unlink(missing_ok=True)
        process = _PROCESSES.Process(target=_run_sync, args=(self.environment, words))
        process.start()
        started = time.monotonic()
        process.join(self.random.uniform(0.05, 1.1) * self._normal)
        ended = process.exitcode is not None
        if ended:
            self._normal = 0.5 * self._normal + 0.5 * (time.monotonic() - started)
        if ended and victim == "sync":
            return None
        if victim == "sync":
            process.kill()
        elif victim == "provider":
            self.provider.kill()
        elif not self._kill_server(head=victim == "postgres"):
            ended = True
        stage = "after its end" if ended else self._stage_of(process.pid or 0)
        if victim == "provider":
            time.sleep(self.random.uniform(0, 1.5))
            self.provider.start()
        process.join(200)
        assert process.exitcode is not None, f"after {victim} was killed the sync does not end"
        said = words.read_text() if words.exists() else ""
        assert "Traceback" not in said, f"after {victim} was killed: {said[-3000:]}"
        return stage

    def _kill_server(self, *, head: bool) -> bool:
        pid = server.status(self.home).pid
        if pid is None:
            return False  # a crash is being recovered from: killed already
        process = psutil.Process(pid)
        if not head:
            others = [child for child in process.children() if "vaultline" in _title(child)]
            process = self.random.choice(others or process.children())
        try:
            process.kill()
        except psutil.NoSuchProcess:
            return False
        return True

    def _kill_run(self) -> str | None:
        """Wait for a run of the daemon's, and kill its process; syncs that failed must not make the sensor wait."""
        assert self._daemon is not None, "there is no daemon whose run could be killed"
        self._sync()
        self.editor.burst()
        deadline = time.monotonic() + _RUN_COMES
        while time.monotonic() < deadline:
            if workers := _run_workers(self._daemon.pid):
                time.sleep(self.random.uniform(0, 1.1 * self._normal))
                worker = self.random.choice(_run_workers(self._daemon.pid) or workers)
                stage = self._stage_of(worker.pid)
                try:
                    worker.kill()
                except psutil.NoSuchProcess:
                    continue
                return stage
            time.sleep(0.05)
        return None

    def _stage_of(self, pid: int) -> str:
        """The last step that a process's run has begun, as far as Dagster was told."""
        with open_instance(self.settings) as instance:
            for record in instance.get_run_records(limit=5):
                run = record.dagster_run
                if f"/{pid}/" in run.tags.get(TAG, ""):
                    steps = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_START)
                    return (steps[-1].step_key if steps else None) or "starting"
        return "starting"

    def _sync(self) -> None:
        with contextlib.suppress(VaultlineError):
            sync(self.settings, allow_deletes=True)

    def _finish(self) -> None:
        """Sync until nothing is left; what the daemon still has in hand, too. Raises the last error if that fails."""
        failure: VaultlineError | None = None
        for _ in range(20):
            try:
                sync(self.settings, allow_deletes=True)
                failure = None
            except VaultlineError as error:
                failure = error
                time.sleep(0.5)
                continue
            with open_instance(self.settings) as instance:
                records = instance.get_run_records(dg.RunsFilter(statuses=list(UNFINISHED)))
                alive = bury(instance, [record.dagster_run for record in records])
            left = sync(self.settings, dry_run=True)
            if not alive and not left.folders:
                return
            time.sleep(1.0)
        raise failure or AssertionError(f"the work does not end: runs {alive}, sync would {left.to_json()}")

    def _start_daemon(self) -> None:
        log = (self.folder / "daemon.log").open("ab")
        command = [sys.executable, "-m", "dagster._daemon", "run", "-m", "pipelines.definitions"]
        environment = self.environment | {"DAGSTER_HOME": str(self.home / "dagster")}
        self._daemon = subprocess.Popen(
            command, env=environment, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        log.close()

    def _stop_daemon(self) -> None:
        if self._daemon is None:
            return
        processes = [psutil.Process(self._daemon.pid)] if self._daemon.poll() is None else []
        processes += [child for process in list(processes) for child in process.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGTERM)
        for process in psutil.wait_procs(processes, timeout=15)[1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._daemon.wait()
        self._daemon = None

    def _make_template(self, database: Database) -> None:
        from pipelines.storage.migrations import migrate

        self._create(database.url, "clean_template", "template0")
        migrate(Database(make_conninfo(database.url, dbname="clean_template")))

    def _new_database(self) -> Database:
        url = Database.from_settings(self.settings).url
        self._databases += 1
        name = f"clean_{self._databases}"
        if self._databases > 1:
            with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE IF EXISTS clean_{self._databases - 1} WITH (FORCE)")
        self._create(url, name, "clean_template")
        return Database(make_conninfo(url, dbname=name))

    def _new_home(self) -> Path:
        """A home for a clean build: with Dagster's empty files of the first one, without its records."""
        template = self.folder / "clean-home"
        if not template.exists():
            with open_instance(self.settings.model_copy(update={"vaultline_home": template})) as instance:
                instance.add_dynamic_partitions("warm", ["up"])
        self._builds += 1
        home = self.folder / f"clean-{self._builds}"
        shutil.rmtree(self.folder / f"clean-{self._builds - 1}", ignore_errors=True)
        return shutil.copytree(template, home)

    def _create(self, url: str, name: str, template: str) -> None:
        with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")


def _run_sync(environment: dict[str, str], words: Path) -> None:
    """`vaultline sync`, in a process that has the imports behind it; what it says goes to a file."""
    from pipelines import cli

    said = words.open("w")
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        stream.flush()
        os.dup2(said.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["vaultline", "sync", "--allow-deletes"]
    cli.main()


def _settings(vault: Path, home: Path, provider: str) -> Settings:
    return Settings.load(
        _env_file=None,
        vault_path=vault,
        vaultline_home=home,
        embedding_model=MODEL,
        embedding_base_url=provider,
        embedding_patience_seconds=20,
        vault_quiet_seconds=_QUIET,
    )


def _environment(vault: Path, home: Path, provider: str) -> dict[str, str]:
    """The same as an environment, for processes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.lower() not in Settings.model_fields and not name.startswith(("DAGSTER", "PYTEST"))
    }
    return kept | {
        "VAULT_PATH": str(vault),
        "VAULTLINE_HOME": str(home),
        "EMBEDDING_MODEL": MODEL,
        "EMBEDDING_BASE_URL": provider,
        "EMBEDDING_PATIENCE_SECONDS": "20",
        "VAULT_QUIET_SECONDS": str(_QUIET),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def _run_workers(daemon: int) -> list[psutil.Process]:
    """Processes of runs: children of the daemon's code server, which starts them by multiprocessing."""
    try:
        below = psutil.Process(daemon).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process for process in below if "spawn_main" in _title(process)]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
