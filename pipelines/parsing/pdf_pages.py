"""The pages of a PDF, one decision each: its text layer, OCR, both, or blank. Runs in the worker process.

Two passes, so that a limit or a crash costs as little as possible: first every page's text layer, which is cheap,
then OCR of the pages that need it. Each page is sent as soon as it is known; a page that OCR will improve is sent
twice. `working` says which page a crash has to be blamed on.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pipelines.errors import DocumentError
from pipelines.parsing import ocr
from pipelines.parsing.ocr_reading import Reader, Reading
from pipelines.parsing.pdf_layout import Box, Line, Paragraph, paragraphs_of
from pipelines.parsing.pdf_text import is_junk, junk_share, normalize_line

if TYPE_CHECKING:
    import pymupdf

Message = dict[str, Any]

OCR_LONG_SIDE = 2000
"""Pixels that small pages are drawn with on their long side, if their images have them (labels, slides, receipts)."""
COVERED_ROWS = 0.15
"""An image is read already when lines of the text layer cover this share of its height: OCR layers over scans cover
0.3 to 0.9 of it, a digital header, footer or stamp less than 0.1."""
INVISIBLE = 3  # PDF's text rendering mode of the text that OCR programs lay under a scan (ISO 32000-1, table 106)
NEEDS_PASSWORD = "needs a password: save a copy without one, or leave the file out of the index"
DAMAGED = "damaged: it cannot be opened as a PDF; restore the file or export it again"


def read_pages(
    data: bytes,
    *,
    engine: str | None,
    languages: Sequence[str],
    without_ocr: str | None,
    dpi: int,
    image_share: float,
    max_pages: int,
    max_ocr_pages: int,
    max_pixels: int,
    seconds: float,
    skip: Sequence[int],
) -> Iterator[Message]:
    """Yield what the file says about itself, then its pages.

    `engine` is None when OCR cannot run, and `without_ocr` then says why. Pages in `skip` (1-based) were done or
    given up by an earlier worker. OCR stops when `seconds` are over; text layers are read all the same.

    Raises DocumentError for a file that is locked, empty or beyond repair.
    """
    deadline = time.monotonic() + seconds
    document = open_document(data)
    yield {"document": describe(document)}
    waiting: list[int] = []
    for number in range(1, min(document.page_count, max_pages) + 1):
        if number in skip:
            continue
        yield {"working": number}
        try:
            page = read_text_layer(document[number - 1], image_share=image_share)
        except MemoryError:
            page = page_message(number, "failed", why="it needed more memory than the limit (PDF_MAX_MEMORY_MB)")
        except Exception as error:
            page = page_message(number, "failed", why=f"it is damaged: {error}")
        if page["pending"]:
            waiting.append(number)
            page["why"] = without_ocr if engine is None else None
        yield {"page": page}
    if engine is None or not waiting:
        return
    try:
        reader = ocr.open_reader(engine, languages)
    except Exception as error:
        yield from unread(waiting, f"OCR did not start: {type(error).__name__}: {error}")
        return
    for done, number in enumerate(waiting):
        if done >= max_ocr_pages:
            yield from unread(waiting[done:], f"over the limit of {max_ocr_pages} OCR pages (OCR_MAX_PAGES)")
            return
        if time.monotonic() > deadline:
            yield from unread(waiting[done:], f"over the limit of {seconds:.0f} seconds (PDF_MAX_SECONDS)")
            return
        yield {"working": number}
        try:
            yield {"page": read_by_ocr(document[number - 1], reader, dpi=dpi, max_pixels=max_pixels)}
        except MemoryError:
            yield from unread([number], "OCR needed more memory than the limit (PDF_MAX_MEMORY_MB)")
        except Exception as error:
            yield from unread([number], f"OCR failed: {type(error).__name__}: {error}")


def unread(numbers: Iterable[int], why: str) -> Iterator[Message]:
    """Say of pages that were sent before why their scanned part stays unread; their text layer stands."""
    yield {"unread": list(numbers), "why": why}


def page_message(
    number: int,
    origin: str,
    paragraphs: Iterable[Paragraph] = (),
    *,
    cause: str | None = None,
    why: str | None = None,
    pending: bool = False,
) -> Message:
    """A page as JSON; the fields are those of `pdf_assembly.PageText`."""
    packed = [asdict(paragraph) for paragraph in paragraphs]
    return {"number": number, "origin": origin, "paragraphs": packed, "cause": cause, "why": why, "pending": pending}


def open_document(data: bytes) -> "pymupdf.Document":
    """Open a PDF and make sure that its pages can be reached. Raises DocumentError with the plain reason."""
    # PyMuPDF 2 loads a layout model and onnxruntime with itself where they are installed: half a second and 75 MB.
    for unused in ("pymupdf.layout", "pymupdf4llm"):
        sys.modules.setdefault(unused, None)  # type: ignore[arg-type]
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        document = pymupdf.open(stream=data, filetype="pdf")
    except MemoryError:
        raise
    except Exception as error:
        raise DocumentError(DAMAGED) from error
    if document.needs_pass:
        raise DocumentError(NEEDS_PASSWORD)
    try:
        pages = document.page_count
    except Exception as error:
        raise DocumentError(DAMAGED) from error
    if pages == 0:
        raise DocumentError("damaged: it has no pages" if document.is_repaired else "empty: it has no pages")
    return document


def describe(document: "pymupdf.Document") -> Message:
    """Metadata, outline and oddities; a part that cannot be read is left out."""

    def attempt(read: Any, otherwise: Any) -> Any:
        try:
            return read()
        except Exception:
            return otherwise

    metadata = attempt(lambda: dict(document.metadata or {}), {})
    outline = attempt(lambda: document.get_toc(simple=True), [])
    return {
        "pages": document.page_count,
        "metadata": {str(key): value for key, value in metadata.items() if isinstance(value, str)},
        "outline": [[level, title, page] for level, title, page, *_ in outline if isinstance(title, str)][:5000],
        "repaired": bool(attempt(lambda: document.is_repaired, False)),
        "attachments": attempt(document.embfile_count, 0),
        "xfa": attempt(lambda: document.xref_get_key(document.pdf_catalog(), "AcroForm/XFA")[0], "null") != "null",
    }


def read_text_layer(page: "pymupdf.Page", *, image_share: float) -> Message:
    """The page by its text layer; `pending` if OCR is needed to read all of it."""
    number = (page.number or 0) + 1
    raw = layer_lines(page)
    text = "\n".join(line.text for line, _turn in raw)
    if is_junk(text):
        cause = f"its text layer is unreadable ({junk_share(text):.0%} of it are no characters)"
        return page_message(number, "skipped", cause=cause, pending=True)
    paragraphs = order_turned([(replace(line, text=normalize_line(line.text)), turn) for line, turn in raw])
    if not paragraphs:
        if is_empty(page):
            return page_message(number, "blank")
        return page_message(number, "skipped", cause="it has no text layer", pending=True)
    unread_share = unread_image_share(page, [line.box for line, _turn in raw])
    if unread_share > image_share:
        return page_message(number, "text", paragraphs, cause=f"images cover {unread_share:.0%} of it", pending=True)
    return page_message(number, "text", paragraphs)


def layer_lines(page: "pymupdf.Page") -> list[tuple[Line, int]]:
    """Raw lines of the text layer in the page as displayed, each with its direction in quarter turns."""
    import pymupdf

    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_MEDIABOX_CLIP
    matrix = page.rotation_matrix
    lines: list[tuple[Line, int]] = []
    for block in page.get_text("dict", flags=flags)["blocks"]:
        for line in block.get("lines", ()):
            text = "".join(span["text"] for span in line["spans"])
            if not text.strip():
                continue
            size = max(line["spans"], key=lambda span: len(span["text"].strip()))["size"]  # a bullet is no measure
            direction = pymupdf.Point(line["dir"]) * pymupdf.Matrix(matrix.a, matrix.b, matrix.c, matrix.d, 0, 0)
            box = pymupdf.Rect(line["bbox"]) * matrix
            lines.append((Line(text, (box.x0, box.y0, box.x1, box.y1), size), quarter_turns(direction.x, direction.y)))
    return lines


def quarter_turns(x: float, y: float) -> int:
    """How often a line of this direction must be turned by 90 degrees, clockwise as seen, to be upright."""
    if abs(x) >= abs(y):
        return 0 if x >= 0 else 2
    return 1 if y < 0 else 3


def turn_box(box: Box, turns: int) -> Box:
    """A box after the page was turned clockwise; the origin may land anywhere, since only relations matter."""
    left, top, right, bottom = box
    for _ in range(turns % 4):
        left, top, right, bottom = -bottom, left, -top, right
    return left, top, right, bottom


def order_turned(lines: list[tuple[Line, int]]) -> list[Paragraph]:
    """Paragraphs of each direction of writing; the direction of most text first."""
    weight = {turn: sum(len(line.text) for line, own in lines if own == turn) for _line, turn in lines}
    paragraphs: list[Paragraph] = []
    for turn in sorted(weight, key=lambda turn: (-weight[turn], turn)):
        own = [Line(line.text, turn_box(line.box, turn), line.size) for line, its in lines if its == turn]
        paragraphs += paragraphs_of(own)
    return paragraphs


def is_empty(page: "pymupdf.Page") -> bool:
    """Whether nothing at all is drawn on a page, decided on a small picture of it."""
    import pymupdf

    if not page.get_contents() and page.first_annot is None and page.first_widget is None:
        return True
    longest = max(page.rect.width, page.rect.height, 1.0)
    scale = min(1.0, 400 / longest)
    picture = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False)
    return bool(picture.is_unicolor)


def unread_image_share(page: "pymupdf.Page", text: Sequence[Box]) -> float:
    """Share of the page, 0 to 1, under images whose content the text layer does not hold."""
    import pymupdf

    area = abs(page.rect.get_area())
    images = [pymupdf.Rect(image["bbox"]) * page.rotation_matrix & page.rect for image in page.get_image_info()]
    images = [image for image in images if not image.is_empty and image.get_area() > 0.01 * area]
    if not images or any(trace["type"] == INVISIBLE for trace in page.get_texttrace()):
        return 0.0
    unread_area = 0.0
    for image in images:
        inside = [(top, bottom) for left, top, right, bottom in text if right > image.x0 and left < image.x1]
        covered = covered_length([(max(top, image.y0), min(bottom, image.y1)) for top, bottom in inside])
        if covered < COVERED_ROWS * image.height:
            unread_area += image.get_area()
    return float(min(1.0, unread_area / area)) if area else 0.0


def covered_length(intervals: Iterable[tuple[float, float]]) -> float:
    """Length of the union of intervals; those that are empty or turned round count as none."""
    total = 0.0
    reach = float("-inf")
    for start, end in sorted(intervals):
        if end > max(start, reach):
            total += end - max(start, reach)
            reach = end
    return total


def read_by_ocr(page: "pymupdf.Page", reader: Reader, *, dpi: int, max_pixels: int) -> Message:
    """The page as it looks, read by OCR; a readable text layer keeps its place among what OCR adds."""
    import pymupdf

    number = (page.number or 0) + 1
    scale = drawing_scale(page, dpi=dpi, max_pixels=max_pixels)
    picture = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
    reading = reader(picture.samples, picture.width, picture.height)
    found = [replace(line, text=normalize_line(line.text), size=line.size / scale) for line in reading.lines]
    layer = layer_lines(page)
    junk = is_junk("\n".join(line.text for line, _turn in layer))
    kept = [] if junk else [(replace(line, text=normalize_line(line.text)), turn) for line, turn in layer]
    kept = [(line, turn) for line, turn in kept if line.text]
    if not kept:
        paragraphs = paragraphs_of([replace(line, box=scale_box(line.box, scale)) for line in found])
        if paragraphs:
            return page_message(number, "ocr", paragraphs)
        if junk:
            return page_message(number, "failed", cause="its text layer is unreadable", why="OCR found no words")
        return page_message(number, "blank", cause="OCR found no words")
    layer_boxes = [line.box for line, _turn in kept]
    placed = [place(line, reading, picture.width, picture.height, scale) for line in found]
    added = [(line, turn) for line, turn in placed if line.text and not is_inside(line.box, layer_boxes)]
    return page_message(number, "mixed" if added else "text", order_turned([*kept, *added]))


def drawing_scale(page: "pymupdf.Page", *, dpi: int, max_pixels: int) -> float:
    """Pixels a point to draw a page with: the setting's, more for small pages whose images have more to show."""
    longest = max(page.rect.width, page.rect.height, 1.0)
    native = max((pixels / max(points, 1.0) for pixels, points in image_widths(page)), default=0.0)
    scale = max(dpi / 72, min(native, OCR_LONG_SIDE / longest))
    most = (max_pixels / max(page.rect.width * page.rect.height, 1.0)) ** 0.5
    return float(min(scale, most))


def image_widths(page: "pymupdf.Page") -> Iterator[tuple[int, float]]:
    """Of each image of a page its width in pixels, and in points as placed."""
    for image in page.get_image_info():
        a, b = image["transform"][:2]
        yield image["width"], (a * a + b * b) ** 0.5


def place(line: Line, reading: Reading, width: int, height: int, scale: float) -> tuple[Line, int]:
    """A line of a picture that was turned to be read, in points of the page as displayed."""
    left, top, right, bottom = line.box
    # Undo the clockwise turns one by one; (w, h) is the size of the picture that the box refers to.
    w, h = (height, width) if reading.turns % 2 else (width, height)
    for _ in range(reading.turns % 4):
        left, top, right, bottom = top, w - right, bottom, w - left
        w, h = h, w
    return replace(line, box=scale_box((left, top, right, bottom), scale)), reading.turns


def scale_box(box: Box, scale: float) -> Box:
    """A box of the drawn picture in points."""
    left, top, right, bottom = box
    return left / scale, top / scale, right / scale, bottom / scale


def is_inside(box: Box, others: Sequence[Box]) -> bool:
    """Whether half of a box lies under one of the others."""
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1e-9)
    for other in others:
        across = min(box[2], other[2]) - max(box[0], other[0])
        down = min(box[3], other[3]) - max(box[1], other[1])
        if across > 0 and down > 0 and across * down >= 0.5 * area:
            return True
    return False
