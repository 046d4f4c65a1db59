"""The reader of pages with a hazard built in, as a hostile PDF would set one off. Run in the worker by test_pdf.py."""

import ctypes
import time
from collections.abc import Iterator
from typing import Any

from pipelines.parsing import pdf_pages


def crash_at_once(data: bytes, **arguments: Any) -> Iterator[Any]:
    ctypes.string_at(0)
    yield {}


def crash_on_page_two(data: bytes, **arguments: Any) -> Iterator[Any]:
    for message in pdf_pages.read_pages(data, **arguments):
        yield message
        if message.get("working") == 2:
            ctypes.string_at(0)


def hang_on_page_two(data: bytes, **arguments: Any) -> Iterator[Any]:
    for message in pdf_pages.read_pages(data, **arguments):
        yield message
        if message.get("working") == 2:
            time.sleep(600)


def crash_in_ocr(data: bytes, **arguments: Any) -> Iterator[Any]:
    seen: set[int] = set()
    for message in pdf_pages.read_pages(data, **arguments):
        yield message
        number = message.get("working")
        if number in seen or (number is not None and number in (1, 3) and arguments["skip"] and len(seen) >= 1):
            ctypes.string_at(0)
        if number is not None:
            seen.add(number)
