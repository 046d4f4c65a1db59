"""Native code in a process of its own: whatever happens there costs one document and nothing else."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import DocumentError
from pipelines.parsing import isolation
from pipelines.parsing.isolation import TaskFailed, WorkerLost, run_isolated

ROOT = Path(__file__).resolve().parents[3]
MEGABYTE = 1024 * 1024


def run(task: str, data: bytes = b"", *, seconds: float = 60, memory_mb: int = 600, **arguments: Any) -> list[Any]:
    """What a task of worker_tasks.py yields; raises what run_isolated raises."""
    items: list[Any] = []
    task = f"tests.unit.parsing.worker_tasks:{task}"
    run_isolated(task, data, arguments, on_item=items.append, seconds=seconds, memory_bytes=memory_mb * MEGABYTE)
    return items


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


@pytest.fixture(autouse=True)
def no_worker_left() -> Iterator[None]:
    isolation.stop_worker()  # another module's, which may be about to leave because it grew
    yield
    isolation.stop_worker()


def test_one_worker_serves_many_documents() -> None:
    first, second = run("describe", b"x" * 5_000_000)[0], run("describe")[0]
    assert first["pid"] == second["pid"] != os.getpid()
    assert (first["size"], second["size"]) == (5_000_000, 0)


@pytest.mark.parametrize(
    ("task", "limits", "cause", "words"),
    [
        ("crash", {}, "crash", "SIGSEGV"),
        ("hang", {"seconds": 1.5}, "time", "longer than 2 seconds"),
        ("fill_memory", {"memory_mb": 200}, "memory", "more than 200 MB"),
    ],
)
def test_a_lost_worker_costs_one_document(task: str, limits: dict[str, Any], cause: str, words: str) -> None:
    before = run("describe")[0]["pid"]
    items: list[Any] = []
    seconds, memory = limits.get("seconds", 60), limits.get("memory_mb", 600) * MEGABYTE
    name = f"tests.unit.parsing.worker_tasks:{task}"
    with pytest.raises(WorkerLost, match=words) as lost:
        run_isolated(name, b"", {}, on_item=items.append, seconds=seconds, memory_bytes=memory)
    assert lost.value.cause == cause
    assert items == ["before"], "what was answered before is kept"
    assert not is_running(before)
    assert run("describe")[0]["pid"] != before, "the next document gets a fresh worker"


def test_one_giant_allocation_fails_without_losing_the_worker() -> None:
    before = run("describe")[0]["pid"]
    with pytest.raises(TaskFailed, match="MemoryError"):
        run("ask_for_too_much")
    assert run("describe")[0]["pid"] == before


def test_refusals_and_failures_are_told_apart_and_the_worker_lives() -> None:
    before = run("describe")[0]["pid"]
    with pytest.raises(DocumentError, match=r"^needs a password$"):
        run("refuse")
    with pytest.raises(TaskFailed, match="ZeroDivisionError: division by zero"):
        run("fail")
    assert run("describe")[0]["pid"] == before


def test_an_error_of_the_reader_of_answers_does_not_leave_half_an_answer_behind() -> None:
    def reject(item: object) -> None:
        raise KeyError("unexpected")

    with pytest.raises(KeyError):
        run_isolated(
            "tests.unit.parsing.worker_tasks:describe", b"", {}, on_item=reject, seconds=60, memory_bytes=600 * MEGABYTE
        )
    assert run("describe", b"ab")[0]["size"] == 2


def test_a_worker_that_died_while_idle_is_replaced() -> None:
    before = run("describe")[0]["pid"]
    os.kill(before, signal.SIGKILL)
    wait_until_gone(before, 5)
    assert run("describe")[0]["pid"] != before


def test_the_worker_gets_no_secrets_and_no_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "VOYAGE_API_KEY", "EMBEDDING_API_KEY", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_NOT"):
        monkeypatch.setenv(name, "secret")
    with (ROOT / "pyproject.toml").open() as file:
        os.set_inheritable(file.fileno(), True)
        seen = run("describe")[0]
    assert not {name for name in seen["environment"] if "KEY" in name or "URL" in name or name == "LD_PRELOAD_NOT"}
    assert seen["telemetry"] == "1"
    # Two pipes, three standard streams, the list itself; an inherited file would be one more.
    assert seen["descriptors"] <= 6


def test_the_vault_as_working_directory_runs_none_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the vault was run')")
    monkeypatch.chdir(tmp_path)
    assert run("describe", b"a")[0]["size"] == 1


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(lambda size: run("describe", b"x" * size)[0]["size"], range(40)))
    assert sizes == list(range(40))


def test_a_forked_child_has_a_worker_of_its_own() -> None:
    mine = run("describe")[0]["pid"]
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, str(run("describe")[0]["pid"]).encode())
            isolation.stop_worker()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    theirs = int(os.read(read_end, 20))
    os.close(read_end)
    os.close(write_end)
    assert theirs != mine
    assert run("describe")[0]["pid"] == mine


PARENT = """
import os, sys
from pipelines.parsing.isolation import run_isolated
def say(item):
    os.write({report}, f"{{item}}\\n".encode())
task = "tests.unit.parsing.worker_tasks:{task}"
run_isolated(task, b"", {arguments}, on_item=say, seconds=60, memory_bytes=600 << 20)
"""


def start_parent(task: str, arguments: str = "{}", *, report: int = 2, before: str = "", **streams: Any) -> Any:
    code = before + PARENT.format(task=task, arguments=arguments, report=report)
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **streams)


def test_nothing_of_the_worker_reaches_standard_output() -> None:
    parent = start_parent("shout", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = parent.communicate(b'{"jsonrpc": "2.0"}\n', timeout=60)
    assert parent.returncode == 0, errors
    assert output == b""
    assert errors.split() == [b"quiet"]


def test_the_worker_leaves_standard_input_alone() -> None:
    before = "import sys\n"
    code = before + PARENT.format(task="describe", arguments="{}", report=2) + "print(sys.stdin.readline(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        input=b'{"jsonrpc": "2.0"}\n',
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0"}


def test_works_with_all_standard_streams_closed(tmp_path: Path) -> None:
    report = tmp_path / "report"
    before = f"import os\nfor fd in (0, 1, 2): os.close(fd)\nout = os.dup(os.open({str(report)!r}, 65, 0o600))\n"
    parent = start_parent("wait", "{'seconds': 0}", report="out", before=before)  # type: ignore[arg-type]
    assert parent.wait(timeout=60) == 0
    assert int(report.read_text()) > 0


def test_the_worker_does_not_outlive_a_killed_parent() -> None:
    parent = start_parent("wait", "{'seconds': 300}", stderr=subprocess.PIPE)
    assert parent.stderr is not None
    worker = int(parent.stderr.readline())
    parent.kill()
    parent.wait(timeout=10)
    parent.stderr.close()
    assert wait_until_gone(worker, 10)


def test_importing_costs_no_native_library() -> None:
    code = (
        "import sys, pipelines.parsing.pdf, pipelines.parsing.ocr;"
        "heavy = {'pymupdf', 'numpy', 'cv2', 'rapidocr', 'onnxruntime', 'openvino', 'subprocess'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "['subprocess']"
