"""PDF -> ParsedDocument: asks the worker for the pages, keeps what it gets, and says plainly what is missing."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.errors import DocumentError
from pipelines.parsing import isolation, ocr
from pipelines.parsing.document import ParsedDocument
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.pdf_assembly import PageText, assemble
from pipelines.parsing.pdf_layout import Paragraph

TASK = "pipelines.parsing.pdf_pages:read_pages"
HEADER_WITHIN = 1024  # bytes; readers accept junk of mail gateways and printers before the header
GRACE_SECONDS = 30.0  # between the limit, which the worker keeps itself between pages, and its end by force
MOST_CRASHES = 3  # pages that may take the worker with them before the rest of a document is given up


@dataclass(slots=True)
class _Progress:
    """What is known of a document so far; filled by the worker's messages."""

    about: dict[str, Any] | None = None
    pages: dict[int, PageText] = field(default_factory=dict)
    working: int | None = None

    def take(self, message: dict[str, Any]) -> None:
        if "document" in message:
            self.about = message["document"]
        elif "working" in message:
            self.working = int(message["working"])
        elif "page" in message:
            page = _page_text(message["page"])
            self.pages[page.number] = page
            self.working = None
        elif "unread" in message:
            for number in message["unread"]:
                self.explain(int(number), message["why"])
            self.working = None

    def explain(self, number: int, why: str) -> None:
        """Say of one page why it, or the scanned part of it, was not read. The text that it has stays."""
        page = self.pages.get(number, PageText(number, "failed"))
        self.pages[number] = replace(page, why=why)

    def finished(self) -> set[int]:
        """Pages that need no second look."""
        return {page.number for page in self.pages.values() if not page.pending or page.why is not None}


def parse_pdf(data: bytes, *, options: ParseOptions) -> ParsedDocument:
    """Read a PDF: its text layer page by page, OCR for pages without a readable one.

    `pages` says for every page how it was read, and why not; `warnings` sum that up. What was read before a limit
    or a crash is kept. Safe to call from several threads; they take turns.

    Raises DocumentError with a plain reason when there is nothing to keep: not a PDF, empty, damaged, locked by a
    password, or a file that takes the reading process down before its first page.
    """
    check_header(data)
    progress = _Progress()
    engine = ocr.status(options)
    deadline = time.monotonic() + options.pdf_max_seconds
    rest = "not reached"
    for _ in range(MOST_CRASHES):
        try:
            _ask(data, options, engine, progress, deadline)
            break
        except isolation.TaskFailed as error:
            raise DocumentError(f"damaged: it cannot be read ({error})") from error
        except isolation.WorkerLost as loss:
            if progress.about is None:
                raise DocumentError(f"cannot be read: {loss}") from loss
            rest = f"not reached: {loss}"
            if progress.working is not None:
                progress.explain(progress.working, str(loss))
            if progress.working is None or loss.cause == "time":
                break
            progress.working = None
    return _finish(progress, options, rest)


def check_header(data: bytes) -> None:
    """Refuse what is no PDF before a library guesses: PyMuPDF reads an HTML page named .pdf as text.

    Raises DocumentError.
    """
    if not data:
        raise DocumentError("empty: the file has 0 bytes")
    start = data[:HEADER_WITHIN]
    if b"%PDF-" in start:
        return
    if start.startswith(b"version https://git-lfs"):
        raise DocumentError("not a PDF: it is a Git LFS pointer; fetch the file itself (git lfs pull)")
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        raise DocumentError("not a PDF: it is a web page; perhaps a login or error page was saved in its place")
    if not start.strip(b"\x00"):
        raise DocumentError("not a PDF: it begins with nothing but zeros; copy the file again")
    if start.startswith(b"PK\x03\x04"):
        raise DocumentError("not a PDF: it is a ZIP or Office file")
    raise DocumentError("not a PDF: it does not begin with %PDF-")


def _ask(data: bytes, options: ParseOptions, engine: ocr.OcrStatus, progress: _Progress, deadline: float) -> None:
    seconds = max(0.0, deadline - time.monotonic())
    read = sum(page.origin in ("ocr", "mixed") for page in progress.pages.values())
    arguments = {
        "engine": engine.engine,
        "languages": list(engine.languages),
        "without_ocr": engine.problem,
        "dpi": options.ocr_dpi,
        "image_share": options.ocr_image_share,
        "max_pages": options.pdf_max_pages,
        "max_ocr_pages": options.ocr_max_pages - read,
        "max_pixels": options.ocr_max_pixels,
        "seconds": seconds,
        "skip": sorted(progress.finished()),
    }
    isolation.run_isolated(
        TASK,
        data,
        arguments,
        on_item=progress.take,
        seconds=seconds + GRACE_SECONDS,
        memory_bytes=options.pdf_max_memory_mb * 1024 * 1024,
    )


def _page_text(message: dict[str, Any]) -> PageText:
    paragraphs = tuple(
        Paragraph(tuple(one["lines"]), tuple(one["wraps"]), float(one["size"])) for one in message["paragraphs"]
    )
    return PageText(
        int(message["number"]),
        message["origin"],
        paragraphs,
        cause=message["cause"],
        why=message["why"],
        pending=bool(message["pending"]),
    )


def _finish(progress: _Progress, options: ParseOptions, rest: str) -> ParsedDocument:
    """Put the pages in order, name those that nobody reached, and refuse a document of which nothing was read."""
    if progress.about is None:
        raise DocumentError("damaged: it cannot be read")
    pages = []
    for number in range(1, int(progress.about["pages"]) + 1):
        over = f"over the limit of {options.pdf_max_pages} pages (PDF_MAX_PAGES)"
        page = progress.pages.get(
            number, PageText(number, "skipped", why=over if number > options.pdf_max_pages else rest)
        )
        pages.append(replace(page, why=rest) if page.pending and page.why is None else page)
    if all(page.origin in ("failed", "blank") for page in pages) and any(page.origin == "failed" for page in pages):
        failed = next(page for page in pages if page.origin == "failed")
        raise DocumentError(f"no page can be read: page {failed.number}: {failed.reason}")
    return assemble(pages, progress.about)
