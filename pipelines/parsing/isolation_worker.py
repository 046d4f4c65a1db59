"""The process that native code runs in: reads requests from its standard input, answers on its former standard output.

Started by `pipelines.parsing.isolation`, never by a person. It imports what a request names and nothing else, so that
a crash, a hang or a memory bomb in native code ends this process and not the one that asked.

A frame is a length (8 bytes, big-endian) and that many bytes. A request is two frames, a JSON object and the
document's bytes; the answer is any number of JSON frames, the last of which has the key `end`, `refused` or `failed`.
"""

import faulthandler
import importlib
import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
IDLE_SECONDS = 120.0
PARENT_POLL_SECONDS = 1.0
RESERVED_BYTES = 1_536 * 1024 * 1024
"""What model runtimes reserve without touching it (measured with OpenVINO: 1.5 GB above the resident size)."""


def read_frame(stream: BinaryIO, *, longest: int | None = None) -> bytes | None:
    """The next frame, or None at the end of the stream (also in the middle of a frame: the other side died).

    None too for a frame over `longest` bytes: what writes that is no longer our code.
    """
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    if longest is not None and length > longest:
        return None
    data = stream.read(length)
    return data if len(data) == length else None


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Write one frame and flush it. Raises OSError when the other side is gone."""
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def limit_memory(resident_bytes: int) -> None:
    """Let an allocation far over the limit fail inside this process, where the system can do that.

    The exact limit on resident memory is watched by the parent; this one turns one giant allocation into an error
    that costs a page instead of the process.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _soft, hard = resource.getrlimit(kind)
    wanted = resident_bytes + RESERVED_BYTES
    resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def resident_bytes(pid: int | str = "self") -> int:
    """Resident memory of a process in bytes; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:  # noqa: PTH123 - called ten times a second
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _leave_with_parent(parent: int) -> None:
    """End this process and what it started as soon as the parent is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_SECONDS)
    _end()


def _end() -> None:
    # The parent made this process the leader of its own group, so tesseract, where one runs, goes too.
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _answers(request: dict[str, Any], data: bytes) -> Iterable[dict[str, Any]]:
    module, _, name = request["task"].partition(":")
    answers: Iterable[dict[str, Any]] = getattr(importlib.import_module(module), name)(data, **request["arguments"])
    return answers


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the stream ends, nothing was asked for a while, or memory has grown too much."""
    from pipelines.errors import DocumentError

    def send(message: dict[str, Any]) -> None:
        write_frame(answers, json.dumps(message).encode())

    while True:
        idle = threading.Timer(IDLE_SECONDS, _end)
        idle.daemon = True
        idle.start()
        header = read_frame(requests)
        data = read_frame(requests)
        idle.cancel()
        if header is None or data is None:
            return
        request = json.loads(header)
        limit_memory(request["memory_bytes"])
        # A thread of C, not of Python: it ends the process even when native code hangs while holding the lock.
        faulthandler.dump_traceback_later(request["seconds"] + 10.0, exit=True)
        send({"accepted": True})
        try:
            for answer in _answers(request, data):
                send({"item": answer})
        except DocumentError as refusal:
            send({"refused": str(refusal)})
        except MemoryError:
            send({"failed": "MemoryError"})
        except Exception as error:
            send({"failed": f"{type(error).__name__}: {error}"})
        else:
            send({"end": True})
        finally:
            faulthandler.cancel_dump_traceback_later()
        del data
        if resident_bytes() > request["memory_bytes"] * 0.7:
            return  # the caches of one document must not count against the next


def main() -> None:
    """Take the two pipes out of reach of everything that prints, then serve."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    if hasattr(os, "getppid") and len(sys.argv) > 1:
        threading.Thread(target=_leave_with_parent, args=(int(sys.argv[1]),), daemon=True).start()
    faulthandler.enable()
    try:
        serve(requests, answers)
    except BrokenPipeError:
        return
    finally:
        os._exit(0)  # no interpreter shutdown: native libraries have crashed in it


if __name__ == "__main__":
    main()
