"""Native code in a process of its own: a crash, a hang or a memory bomb costs one document.

One worker a process, started when the first document needs it and kept between documents, because loading PDF and
OCR libraries takes seconds. It gets no open file or socket of this process, no standard input or output, and no
environment variable that it does not need: a hostile file that takes it over finds no key and no database.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pipelines.errors import DocumentError
from pipelines.parsing.isolation_worker import read_frame, resident_bytes, write_frame

Cause = Literal["crash", "time", "memory"]

ENVIRONMENT = (
    "PATH", "HOME", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR", "COMSPEC",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "VIRTUAL_ENV", "TESSDATA_PREFIX",
    "OMP_NUM_THREADS", "COVERAGE_PROCESS_START",
)  # fmt: skip
MEMORY_POLL_SECONDS = 0.05
LONGEST_ANSWER = 256 * 1024 * 1024
LAST_WORDS = ("MemoryError", "bad_alloc", "out of memory", "malloc", "Cannot allocate memory")


class WorkerLost(Exception):
    """The worker ended in the middle of a document; `cause` says why, the answers it gave before are kept."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


class TaskFailed(Exception):
    """The task raised something that is not a DocumentError; the worker lives on."""


class _Worker:
    """A running worker process and the two pipes to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.errors: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        package_root = str(Path(__file__).resolve().parents[2])
        environment = {name: os.environ[name] for name in os.environ if name in ENVIRONMENT or name.startswith("LC_")}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, environment.get("PYTHONPATH"))))
        environment["MALLOC_ARENA_MAX"] = "2"  # glibc otherwise keeps an arena of freed pages a thread
        environment["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime reports to its vendor as soon as it is imported
        # -P: the working directory may be the vault, and a file of the vault called json.py is not ours to run.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pipelines.parsing.isolation_worker", str(self.owner)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent; and the group can be ended as one
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self.answers: BinaryIO = self.process.stdout  # type: ignore[assignment]

    def last_words(self) -> str:
        self.errors.seek(0)
        return self.errors.read(100_000).decode(errors="replace")

    def forget_words(self) -> None:
        self.errors.seek(0)
        self.errors.truncate()

    def kill(self) -> None:
        """End the worker and what it started. Not after it was waited for: its number may be another process's."""
        if self.process.returncode is not None:
            return
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, 9)
            else:
                self.process.kill()

    def close(self) -> None:
        self.kill()
        for stream in (self.requests, self.answers, self.errors):
            with suppress(OSError):
                stream.close()
        self.process.wait()


_lock = threading.Lock()
_worker: _Worker | None = None


def _running() -> _Worker:
    global _worker
    if _worker is not None and (_worker.process.poll() is not None):
        _worker.close()
        _worker = None
    if _worker is None:
        _worker = _Worker()
    return _worker


def stop_worker() -> None:
    """End the worker, if one runs. The next document starts a new one."""
    global _worker
    with _lock:
        if _worker is not None:
            _worker.close()
            _worker = None


def _forget_after_fork() -> None:
    # The parent's worker stays the parent's. Closing our copies of the pipes lets it see the parent's end.
    global _worker, _lock
    _lock = threading.Lock()
    if _worker is not None:
        inherited, _worker = _worker, None
        inherited.process.returncode = 0  # not our child: nothing to wait for
        for stream in (inherited.requests, inherited.answers, inherited.errors):
            stream.raw.close()  # type: ignore[attr-defined]  # without a flush: half a request may be in the buffer


atexit.register(stop_worker)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def run_isolated(
    task: str,
    data: bytes,
    arguments: dict[str, Any],
    *,
    on_item: Callable[[Any], None],
    seconds: float,
    memory_bytes: int,
) -> None:
    """Call `task` ("module:function") with `data` and `arguments` in the worker; `on_item` gets what it yields.

    The function returns an iterable of values that JSON can hold. Threads take turns: one document at a time.
    `seconds` and `memory_bytes` (resident) are limits on this call; starting the worker counts, waiting for a turn
    does not.

    Raises DocumentError as the task raised it, TaskFailed for its other exceptions, and WorkerLost when the process
    crashed or was ended for a limit. What `on_item` was given before is good in each case.
    """
    with _lock:
        for attempt in (1, 2):
            if _exchange(task, data, arguments, on_item, seconds, memory_bytes, last=attempt == 2):
                return


def _exchange(
    task: str,
    data: bytes,
    arguments: dict[str, Any],
    on_item: Callable[[Any], None],
    seconds: float,
    memory_bytes: int,
    *,
    last: bool,
) -> bool:
    """One request and its answers. False: the worker had just left by itself, and another may be asked."""
    global _worker
    worker = _running()
    fresh = worker
    worker.forget_words()
    killed_for: list[Cause] = []
    finished = threading.Event()
    guard = threading.Thread(target=_guard, args=(worker, seconds, memory_bytes, killed_for, finished), daemon=True)
    guard.start()
    accepted = ended = False
    try:
        with suppress(OSError):  # a dead worker's pipe; its answer stream then ends, which is handled below
            request = {"task": task, "arguments": arguments, "seconds": seconds, "memory_bytes": memory_bytes}
            write_frame(worker.requests, json.dumps(request).encode())
            write_frame(worker.requests, data)
        while (frame := read_frame(worker.answers, longest=LONGEST_ANSWER)) is not None:
            message = json.loads(frame)
            accepted = True
            if "item" in message:
                on_item(message["item"])
            elif "accepted" not in message:
                ended = True
                return _finish(message)
    finally:
        finished.set()
        guard.join()
        if not ended:
            words = fresh.last_words()
            fresh.kill()
            code = fresh.process.wait()
            fresh.close()
            _worker = None
    if not accepted and not killed_for and not last:
        return False
    raise _lost(killed_for, words, code, seconds, memory_bytes)


def _finish(message: dict[str, Any]) -> bool:
    if "refused" in message:
        raise DocumentError(message["refused"])
    if "failed" in message:
        raise TaskFailed(message["failed"])
    return True


def _guard(
    worker: _Worker, seconds: float, memory_bytes: int, killed_for: list[Cause], finished: threading.Event
) -> None:
    deadline = time.monotonic() + seconds
    while not finished.wait(MEMORY_POLL_SECONDS):
        cause: Cause | None = None
        if time.monotonic() > deadline:
            cause = "time"
        elif resident_bytes(worker.process.pid) > memory_bytes:
            cause = "memory"
        if cause is not None:
            killed_for.append(cause)
            worker.kill()
            return


def _lost(killed_for: list[Cause], words: str, code: int, seconds: float, memory_bytes: int) -> WorkerLost:
    if killed_for == ["time"]:
        return WorkerLost("time", f"took longer than {seconds:.0f} seconds")
    if killed_for == ["memory"] or any(word in words for word in LAST_WORDS):
        return WorkerLost("memory", f"needed more than {memory_bytes // (1024 * 1024)} MB of memory")
    if "ModuleNotFoundError" in words:  # the installation, not the document
        return WorkerLost("crash", f"the reading process did not start: {words.strip().splitlines()[-1]}")
    return WorkerLost("crash", f"the reading process crashed ({_exit_name(code)})")


def _exit_name(code: int) -> str:
    import signal

    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
