"""PDFs made for the tests: text, pictures of text, both, turned, locked, broken."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # importing PyMuPDF imports onnxruntime, which reports to its vendor

import pymupdf

Draw = Callable[["pymupdf.Page"], object]
SPANISH = "Póliza de año: niño, señor, ¿qué?"


def make_pdf(*pages: Draw | None, size: tuple[float, float] = (595, 842), **metadata: str) -> bytes:
    """A PDF with a page for each drawing; None is a blank page."""
    document = pymupdf.open()
    for draw in pages:
        page = document.new_page(width=size[0], height=size[1])
        if draw is not None:
            draw(page)
    if metadata:
        document.set_metadata(metadata)
    return bytes(document.tobytes())


def text(content: str, *, at: tuple[float, float] = (72, 100), size: float = 12, font: str = "helv") -> Draw:
    """Draw lines of text."""
    return lambda page: page.insert_text(at, content, fontsize=size, fontname=font)


def picture_of(draw: Draw, *, size: tuple[float, float] = (400, 120), dpi: int = 200) -> Any:
    """The drawing as pixels."""
    document = pymupdf.open()
    page = document.new_page(width=size[0], height=size[1])
    draw(page)
    return page.get_pixmap(dpi=dpi)


def scan(
    content: str, *, turns: int = 0, rotate: int = 0, box: tuple[float, float, float, float] | None = None
) -> Draw:
    """Draw a picture of text with no text layer: turned clockwise in the picture itself, or by the page's /Rotate."""

    def draw(page: "pymupdf.Page") -> None:
        target = pymupdf.Rect(box) if box else pymupdf.Rect(60, 200, 460, 320)
        place = (30, 50) if box is None else (target.width * 0.1, target.height * 0.3)
        size = 16 if box is None else target.width * 0.04
        shape = (target.width, target.height)
        picture = picture_of(text(content, at=place, size=size), size=shape, dpi=min(200, int(2e5 / max(shape))))
        if turns % 2:
            target = pymupdf.Rect(target.x0, target.y0, target.x0 + target.height, target.y0 + target.width)
        page.insert_image(target, pixmap=picture, rotate=-90 * turns % 360, keep_proportion=False)
        page.set_rotation(rotate)

    return draw


def both(*draws: Draw) -> Draw:
    """Several drawings on one page."""

    def draw(page: "pymupdf.Page") -> None:
        for one in draws:
            one(page)

    return draw


def locked(data: bytes, *, user: str | None = None, owner: str) -> bytes:
    """The PDF encrypted with AES-256."""
    document = pymupdf.open(stream=data, filetype="pdf")
    return bytes(document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=user, owner_pw=owner))


def columns(left: Sequence[str], right: Sequence[str], *, title: str, row_by_row: bool = False) -> Draw:
    """Two columns under a title that spans them; written row by row, as some programs do, or column by column."""
    places = [(60, 150 + 14 * row, line) for row, line in enumerate(left)]
    places += [(320, 150 + 14 * row, line) for row, line in enumerate(right)]
    if row_by_row:
        places.sort(key=lambda place: (place[1], place[0]))

    def draw(page: "pymupdf.Page") -> None:
        page.insert_text((60, 100), title, fontsize=20)
        for x, y, line in places:
            page.insert_text((x, y), line, fontsize=11)

    return draw


def with_unreadable_layer(data: bytes, *, to: str) -> bytes:
    """The PDF with the Unicode maps of its embedded fonts pointing to one area: "e0" private use, "ff" U+FFxx."""
    document = pymupdf.open(stream=data, filetype="pdf")
    for number in range(1, document.xref_length()):
        stream = document.xref_stream(number) if document.xref_is_stream(number) else None
        if stream and b"beginbf" in stream:
            mapped = re.sub(rb"(?m)( <)\w{2}(\w{2}>)$", rb"\g<1>" + to.encode() + rb"\g<2>", stream)
            document.update_stream(number, mapped)
    return bytes(document.tobytes())


def embedded_text(content: str, *, at: tuple[float, float] = (72, 100)) -> Draw:
    """Text in an embedded font, which has a Unicode map of its own."""

    def draw(page: "pymupdf.Page") -> None:
        page.insert_font(fontname="own", fontbuffer=pymupdf.Font("cjk").buffer)
        page.insert_text(at, content, fontsize=14, fontname="own")

    return draw
