"""OCR by the Tesseract program, for those who have it and ask for it. Languages are never replaced in silence."""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from io import StringIO

from pipelines.parsing.ocr_reading import Reader, Reading, ocr_line, settle_sizes
from pipelines.parsing.pdf_layout import Line

# ISO 639-1 codes that people write where Tesseract wants its own (ISO 639-2/T mostly).
OWN_CODES = {
    "es": "spa", "en": "eng", "fr": "fra", "de": "deu", "pt": "por", "it": "ita", "ca": "cat", "gl": "glg", "eu": "eus",
    "nl": "nld", "pl": "pol", "ru": "rus", "zh": "chi_sim", "ja": "jpn", "ko": "kor", "ar": "ara", "sv": "swe",
    "da": "dan", "nb": "nor", "no": "nor", "fi": "fin", "cs": "ces", "tr": "tur", "el": "ell", "uk": "ukr", "ro": "ron",
}  # fmt: skip
LEAST_CONFIDENCE = 30.0  # of a word, 0 to 100; logos and noise read as words stay below it
ORIENTATION_CHARACTERS = 10  # Tesseract's own minimum, 50, gives up on short pages
PAGE_ARGUMENTS = ("--psm", "3")


def split_codes(languages: Sequence[str]) -> tuple[str, ...]:
    """`("spa+eng",)`, Tesseract's way of writing, as `("spa", "eng")`."""
    return tuple(code.strip() for entry in languages for code in entry.split("+") if code.strip())


def installation() -> tuple[str, tuple[str, ...]]:
    """Tesseract's version and installed languages. Raises OSError when it is missing or does not run."""
    version = _run(["--version"]).split("\n")[0].removeprefix("tesseract").strip()
    listed = _run(["--list-langs"]).split("\n")[1:]
    return version, tuple(sorted(name.strip() for name in listed if name.strip()))


def _run(arguments: list[str]) -> str:
    program = shutil.which("tesseract")
    if program is None:
        raise FileNotFoundError("tesseract is not installed")
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(f"{done.stderr.strip()[:300]}")
    return done.stdout or done.stderr


def language_problem(wanted: Sequence[str], installed: Sequence[str]) -> str | None:
    """What is wrong with the wanted languages, naming each and the installed ones; None if they are all there."""
    usable = [code for code in installed if code != "osd"]
    missing = [code for code in wanted if code not in usable]
    there = ", ".join(usable) or "none"
    if not wanted:
        return f"OCR_LANGUAGES is empty; installed for tesseract: {there}"
    if not missing:
        return None
    hints = [hint for code in missing if (hint := _hint(code, usable)) is not None]
    return f"OCR_LANGUAGES: tesseract has no language {', '.join(missing)}; installed: {there}" + "".join(
        f". {hint}" for hint in hints
    )


def _hint(code: str, usable: Sequence[str]) -> str | None:
    own = OWN_CODES.get(code.lower())
    if own is not None:
        advice = "" if own in usable else f", which is not installed (Debian: tesseract-ocr-{own.replace('_', '-')})"
        return f"Tesseract calls {code} {own}{advice}"
    if re.fullmatch(r"[a-z]{3}(?:_[a-z]+)?", code) and code in OWN_CODES.values():
        return f"Debian's package is tesseract-ocr-{code.replace('_', '-')}"
    close = get_close_matches(code, usable, n=1)
    return f"Did you mean {close[0]}?" if close else None


def open_reader(languages: tuple[str, ...]) -> Reader:
    """A reader in these languages. Raises OSError when Tesseract or a language is missing."""
    _version, installed = installation()
    problem = language_problem(languages, installed)
    if problem is not None:
        raise OSError(problem)

    def read(samples: bytes, width: int, height: int) -> Reading:
        return _read(samples, width, height, languages=languages, knows_direction="osd" in installed)

    return read


def _read(samples: bytes, width: int, height: int, *, languages: tuple[str, ...], knows_direction: bool) -> Reading:
    """Read upright if Tesseract can say what that is; else in all four directions, keeping the surest."""
    turns = _direction(samples, width, height) if knows_direction else None
    if turns is not None:
        lines, _sureness = _recognize(samples, width, height, turns, languages)
        return Reading(lines, turns)
    best: tuple[float, int, tuple[Line, ...]] = (0.0, 0, ())
    for candidate in (0, 1, 3, 2):
        lines, sureness = _recognize(samples, width, height, candidate, languages)
        best = max(best, (sureness, candidate, lines), key=lambda one: one[0])
    return Reading(best[2], best[1])


def _direction(samples: bytes, width: int, height: int) -> int | None:
    """Clockwise quarter turns that make the picture upright; None when too little text is on it to tell."""
    picture = _portable(samples, width, height, 0)
    arguments = ["--psm", "0", "-l", "osd", "-c", f"min_characters_to_try={ORIENTATION_CHARACTERS}"]
    try:
        said = _tesseract(picture, arguments)
    except OSError:
        return None
    degrees = re.search(r"^Rotate: (\d+)", said, re.MULTILINE)
    sureness = re.search(r"^Orientation confidence: ([\d.]+)", said, re.MULTILINE)
    if degrees is None or sureness is None or float(sureness[1]) < 2.0:
        return None
    return int(degrees[1]) // 90 % 4


def _recognize(
    samples: bytes, width: int, height: int, turns: int, languages: tuple[str, ...]
) -> tuple[tuple[Line, ...], float]:
    """Lines of the picture after turning it, and the sum of the characters weighted by confidence."""
    picture = _portable(samples, width, height, turns)
    table = _tesseract(picture, [*PAGE_ARGUMENTS, "-l", "+".join(languages)], "tsv")
    return lines_of_table(table)


def lines_of_table(table: str) -> tuple[tuple[Line, ...], float]:
    """Tesseract's TSV output as lines, without words it is not sure of; and how sure it was over all."""
    words: dict[tuple[str, ...], list[tuple[str, float, float, float, float]]] = {}
    sureness = 0.0
    for row in csv.DictReader(StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        text = (row.get("text") or "").strip()
        confidence = float(row["conf"])
        if not text or confidence < LEAST_CONFIDENCE:
            continue
        left, top, width, height = (float(row[name]) for name in ("left", "top", "width", "height"))
        key = tuple(row[name] for name in ("block_num", "par_num", "line_num"))
        words.setdefault(key, []).append((text, left, top, left + width, top + height))
        sureness += confidence * sum(character.isalnum() for character in text)
    return settle_sizes([_line(found) for found in words.values()]), sureness


def _line(words: Iterable[tuple[str, float, float, float, float]]) -> Line:
    texts, lefts, tops, rights, bottoms = zip(*words, strict=True)
    return ocr_line(" ".join(texts), (min(lefts), min(tops), max(rights), max(bottoms)))


def _tesseract(picture: bytes, arguments: list[str], *formats: str) -> str:
    """Run Tesseract on a picture. Raises OSError with its own words when it fails."""
    program = shutil.which("tesseract")
    if program is None:
        raise FileNotFoundError("tesseract is not installed")
    # Its threads cost more than they bring on pages (upstream's advice), and the machine has other work.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run(
        [program, "stdin", "stdout", *arguments, *formats],
        input=picture,
        capture_output=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(f"tesseract: {done.stderr.decode(errors='replace').strip()[:300]}")
    return done.stdout.decode(errors="replace")


def _portable(samples: bytes, width: int, height: int, turns: int) -> bytes:
    """The picture in the PPM format, turned clockwise."""
    if turns:
        import numpy as np

        picture = np.frombuffer(samples, dtype=np.uint8).reshape(height, width, 3)
        samples = np.rot90(picture, -turns).tobytes()
        width, height = (height, width) if turns % 2 else (width, height)
    return f"P6 {width} {height} 255\n".encode() + samples
