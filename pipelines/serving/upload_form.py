"""The form of an upload, read while it comes: the file goes to its place on disk and never into memory."""

from collections.abc import Callable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from pipelines.serving.problems import Problem, Refused
from pipelines.serving.upload_files import Received, Receiving

FORM_BYTES = 65_536
"""Of a request besides its file: boundaries, headers and fields that are not asked for."""

_NOT_A_FORM = Problem(415, "unsupported_media_type", "send the file as multipart/form-data in the field `file`")
_BROKEN = Problem(400, "broken_form", "the form cannot be read, or ended before its end")
_NO_FILE = Problem(400, "no_file", "the form has no file in its field `file`")
_MORE = Problem(400, "one_file", "send one file a request")


async def receive_file(request: Request, begin: Callable[[bytes], Receiving], *, most: int) -> Received:
    """The one file of a form; `begin` is called with its name. Raises Refused.

    Whatever ends the request before its end, a client that went away included, leaves nothing behind.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise Refused(_NOT_A_FORM)
    form = _Form(boundary, begin)
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most + FORM_BYTES:
                raise Refused(Problem(413, "too_large", f"a file may have {most:,} bytes at most"))
            await run_in_threadpool(form.feed, chunk)
        return await run_in_threadpool(form.finish)
    finally:
        form.abandon()


class _Form:
    def __init__(self, boundary: bytes, begin: Callable[[bytes], Receiving]) -> None:
        self._begin = begin
        self._file: Receiving | None = None
        self._in_file = False
        self._ended = False
        self._field = self._value = self._disposition = b""
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._part_begin,
                    "on_part_data": self._part_data,
                    "on_header_field": self._header_field,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._headers_finished,
                    "on_end": self._end,
                },
            )
        except FormParserError:
            raise Refused(_BROKEN) from None

    def feed(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise Refused(_BROKEN) from None

    def finish(self) -> Received:
        if not self._ended:
            raise Refused(_BROKEN)
        if self._file is None:
            raise Refused(_NO_FILE)
        return self._file.finish()

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _part_begin(self) -> None:
        self._in_file = False
        self._disposition = b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = self._value
        self._field = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != b"file" or b"filename" not in options:
            return
        if self._file is not None:
            raise Refused(_MORE)
        self._file = self._begin(options[b"filename"])
        self._in_file = True

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file and self._file is not None:
            self._file.write(data[start:end])

    def _end(self) -> None:
        self._ended = True
