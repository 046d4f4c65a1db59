"""What a hostile document does to the process that reads it. Run in the worker by test_isolation.py."""

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from pipelines.errors import DocumentError


def describe(data: bytes) -> Iterator[dict[str, Any]]:
    """Who and where the worker is."""
    yield {
        "pid": os.getpid(),
        "size": len(data),
        "environment": sorted(os.environ),
        "telemetry": os.environ.get("ORT_DISABLE_TELEMETRY"),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - counts its own descriptor too
        "path": sys.path[0],
    }


def crash(data: bytes) -> Iterator[str]:
    yield "before"
    ctypes.string_at(0)


def hang(data: bytes) -> Iterator[str]:
    """Native code that never comes back and holds the interpreter's lock."""
    yield "before"
    ctypes.PyDLL(None).sleep(600)


def fill_memory(data: bytes) -> Iterator[str]:
    yield "before"
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1)) * 4_000_000)


def ask_for_too_much(data: bytes) -> Iterator[str]:
    yield "before"
    yield str(len(bytearray(8 * 1024**3)))


def refuse(data: bytes) -> Iterator[str]:
    yield "before"
    raise DocumentError("needs a password")


def fail(data: bytes) -> Iterator[str]:
    yield "before"
    raise ZeroDivisionError("division by zero")


def shout(data: bytes) -> Iterator[str]:
    """Print by every way there is: none may reach the protocol or the parent's standard output."""
    print("printed")
    os.write(1, b"written\n")
    os.system("echo echoed")
    yield "quiet"


def wait(data: bytes, *, seconds: float) -> Iterator[int]:
    yield os.getpid()
    time.sleep(seconds)
