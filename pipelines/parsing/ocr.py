"""Reading pictures of pages: which engine, in which languages, and which way up.

`auto` takes RapidOCR, which comes as a wheel with its models, else Tesseract where it is installed, else nothing.
Only `status` and `require` may be called in the main process; they import no engine.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata, util

from pipelines.errors import SettingsError
from pipelines.parsing import ocr_tesseract
from pipelines.parsing.ocr_reading import Reader
from pipelines.parsing.options import ParseOptions


@dataclass(frozen=True, slots=True)
class OcrStatus:
    """What OCR will do: `engine` is None when scanned pages stay unread, and `problem` then says why."""

    engine: str | None
    version: str | None = None
    languages: tuple[str, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()


def status(options: ParseOptions) -> OcrStatus:
    """Which engine reads scanned pages under these options. Never raises; takes milliseconds."""
    if options.ocr_engine == "off":
        return OcrStatus(None, problem="OCR is off (OCR_ENGINE=off)")
    if options.ocr_engine in ("auto", "rapidocr") and util.find_spec("rapidocr") is not None:
        note = "RapidOCR reads Latin, Chinese and Japanese script; it knows no ¡ (an opening ! is lost)"
        return OcrStatus("rapidocr", version=metadata.version("rapidocr"), notes=(note,))
    if options.ocr_engine == "rapidocr":
        return OcrStatus(None, problem="OCR is not installed: pip install rapidocr, or set OCR_ENGINE=tesseract")
    if shutil.which("tesseract") is None:
        advice = "install tesseract-ocr and its languages (Debian: tesseract-ocr tesseract-ocr-spa)"
        if options.ocr_engine == "auto":
            return OcrStatus(None, problem=f"OCR is not installed: pip install rapidocr, or {advice}")
        return OcrStatus(None, problem=f"OCR is not installed: {advice}, or set OCR_ENGINE=auto")
    try:
        version, installed = ocr_tesseract.installation()
    except OSError as error:
        return OcrStatus(None, problem=f"tesseract does not run: {error}")
    languages = ocr_tesseract.split_codes(options.ocr_languages)
    problem = ocr_tesseract.language_problem(languages, installed)
    if problem is not None:
        return OcrStatus(None, version=version, languages=installed, problem=problem)
    return OcrStatus("tesseract", version=version, languages=languages)


def require(options: ParseOptions) -> OcrStatus:
    """The status, for the start of a sync: raises SettingsError when an engine or a language was asked for by name
    and is not there. `auto` and `off` raise nothing."""
    found = status(options)
    if found.engine is None and options.ocr_engine in ("rapidocr", "tesseract"):
        raise SettingsError(found.problem or "OCR cannot run")
    return found


def identity(options: ParseOptions) -> str:
    """What reads scanned pages under these options, on this machine: `rapidocr`, `tesseract spa+eng` or `none`.

    For the parser's fingerprint: installing an engine that was missing has to make `auto` read the pages it skipped.
    Without versions: an upgrade is no reason to read every scan again.
    """
    found = status(options)
    languages = "+".join(found.languages) if found.engine == "tesseract" else ""
    return f"{found.engine or 'none'} {languages}".strip()


def open_reader(engine: str, languages: Sequence[str]) -> Reader:
    """Load an engine. In the worker process only: this is native code."""
    if engine == "tesseract":
        return ocr_tesseract.open_reader(tuple(languages))
    from pipelines.parsing import ocr_rapid

    return ocr_rapid.open_reader()
