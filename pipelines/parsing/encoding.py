"""Bytes -> clean text: which encoding, how it was found, and what no reader sees taken out.

Order of the decision: byte order mark, UTF-16/32 by where the NUL bytes stand, strict UTF-8, then the legacy encodings
of Spanish and English (a vault's likely languages) by which of them gives letters inside words, and last
charset-normalizer for everything else.
"""

import re
import unicodedata
from dataclasses import dataclass

from pipelines.errors import DocumentError

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32-le", "utf-32-le"),  # before UTF-16: its mark begins with UTF-16's
    (b"\x00\x00\xfe\xff", "utf-32-be", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be", "utf-16-be"),
)

# First bytes of files that are often renamed or synced under a text name.
_BINARIES = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive or Office file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"OggS", "an Ogg sound or video"),
    (b"ID3", "an MP3 sound"),
    (b"\x00asm", "a WebAssembly program"),
)
_RIFF = re.compile(rb"RIFF.{4}(WEBP|WAVE|AVI )", re.DOTALL)
_VIDEO = re.compile(rb".{4}ftyp", re.DOTALL)

# Everything that no reader sees and that would change counts, hashes and searches: C0 and C1 controls without tab and
# line feed, soft hyphen, zero-width space and joiner of words, marks of direction (they can hide text), byte order
# mark, tag characters (they can carry hidden orders), lone surrogates. Zero-width joiners stay: emoji need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_LINE_ENDS = re.compile("\r\n?")
_SEPARATORS = re.compile("[\u2028\u2029\x0b\x0c\x85]")

_SAMPLE = 65_536
# Without NUL: padded and badly converted texts have many. Without tab, line ends, form feed and escape.
_CONTROLS = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f]")
# Of a text's characters; a text has next to none, random bytes have 11 %.
_MOST_CONTROLS = 0.02


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text without marks and invisible characters, `\\n` line ends, NFC; its encoding, how that was found, warnings."""

    text: str
    encoding: str
    how: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes) -> Decoded:
    """Decode a text file of unknown encoding. Raises DocumentError, saying what the file is, where it is no text."""
    _refuse_binary(data)
    warnings: list[str] = []
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            text, damaged = _decode_marked(data[len(mark) :], codec)
            how, encoding = "byte order mark", name
            if damaged:
                warnings.append(
                    f"the file is not clean {name}: characters that could not be read were replaced by U+FFFD"
                )
            break
    else:
        text, encoding, how, warning = _decode_unmarked(data)
        if warning:
            warnings.append(warning)
    _refuse_controls(text)
    return Decoded(clean_text(text), encoding, how, tuple(warnings))


def clean_text(text: str) -> str:
    """Normalise line ends to `\\n` and characters to NFC, and take out what no reader sees."""
    if "\r" in text:
        text = _LINE_ENDS.sub("\n", text)
    if text.isascii():
        return _INVISIBLE.sub("", _SEPARATORS.sub(" ", text)) if _INVISIBLE.search(text) else text
    if _SEPARATORS.search(text):
        text = _SEPARATORS.sub(" ", text)
    if _INVISIBLE.search(text):
        text = _INVISIBLE.sub("", text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _refuse_binary(data: bytes) -> None:
    kind = next((kind for magic, kind in _BINARIES if data.startswith(magic)), None)
    if _RIFF.match(data) or _VIDEO.match(data):
        kind = "a sound, image or video file"
    if kind:
        raise DocumentError(f"this is {kind}, not text: exclude it, or give it its right extension")


def _refuse_controls(text: str) -> None:
    controls = len(_CONTROLS.findall(text, 0, _SAMPLE))
    if controls > 8 and controls > _MOST_CONTROLS * min(len(text), _SAMPLE):
        raise DocumentError("this is a binary file, not text: exclude it, or give it its right extension")


def _decode_marked(data: bytes, codec: str) -> tuple[str, bool]:
    try:
        return data.decode(codec), False
    except UnicodeDecodeError:
        return data.decode(codec, "replace"), True


def _decode_unmarked(data: bytes) -> tuple[str, str, str, str | None]:
    if b"\x00" in data and (wide := _wide_codec(data)):
        try:
            return data.decode(wide), wide, "position of the zero bytes", None
        except UnicodeDecodeError:
            pass
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_legacy(data, error)
    return text, "ascii" if text.isascii() else "utf-8", "valid UTF-8", None


def _wide_codec(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: in texts of Latin letters the high bytes are zero, always at the same place."""
    sample = data[: _SAMPLE // 4 * 4]
    quarters = [sample[place::4].count(0) / max(1, len(sample[place::4])) for place in range(4)]
    if len(data) % 4 == 0 and min(quarters[1:]) > 0.6 and quarters[0] < 0.4:
        return "utf-32-le"
    if len(data) % 4 == 0 and min(quarters[:3]) > 0.6 and quarters[3] < 0.4:
        return "utf-32-be"
    even, odd = (quarters[0] + quarters[2]) / 2, (quarters[1] + quarters[3]) / 2
    if len(data) % 2 == 0 and odd > 0.3 and even < 0.1:
        return "utf-16-le"
    if len(data) % 2 == 0 and even > 0.3 and odd < 0.1:
        return "utf-16-be"
    return None


def _decode_legacy(data: bytes, error: UnicodeDecodeError) -> tuple[str, str, str, str | None]:
    _refuse_controls(data[:_SAMPLE].decode("latin-1"))
    if repaired := _mostly_utf8(data):
        place = data.count(b"\n", 0, error.start) + 1
        return (
            repaired,
            "utf-8",
            "mostly valid UTF-8",
            f"line {place}: bytes that are not UTF-8 were read as windows-1252",
        )
    best = max(_WESTERN, key=lambda codec: _plausibility(data, codec))
    if _plausibility(data, best) >= 0.6:
        encoding = _western_name(data) if best == "cp1252" else best
        note = f"the encoding is a guess: read as {encoding}; save the file as UTF-8 to be sure"
        return data.decode(best, "replace"), encoding, "letters inside words", note
    from charset_normalizer import from_bytes

    match = from_bytes(data[:_SAMPLE]).best()
    if match is None:
        raise DocumentError("the text's encoding is unknown: save the file as UTF-8")
    text = data.decode(match.encoding, "replace")
    note = f"the encoding is a guess: read as {match.encoding}; save the file as UTF-8 to be sure"
    return text, match.encoding, "charset-normalizer", note


# What Windows, DOS and old Macs wrote in Western Europe; the order decides between equals.
_WESTERN = ("cp1252", "cp850", "mac_roman")
_HIGH = re.compile(r"[^\x00-\x7f]+")
# Letters that Spanish, English and their neighbours use, and punctuation where it stands outside a word.
_LETTERS = frozenset("áéíóúüñçàèìòùâêîôûäëïößãõåæøœÁÉÍÓÚÜÑÇÀÈÌÒÙÂÊÎÔÛÄËÏÖÃÕÅÆØŒ")
_MARKS_OUTSIDE = frozenset("¿¡«»“”‘’–—…€£§°ºª·•©®™´\xa0½¼¾²³×±")


def _plausibility(data: bytes, codec: str) -> float:
    """Share of the non-ASCII characters that are Western letters within words, or punctuation between them."""
    text = data[:_SAMPLE].decode(codec, "replace")
    good = total = 0
    for found in _HIGH.finditer(text):
        start, end = found.span()
        run = found.group()
        total += len(run)
        before, after = text[start - 1 : start], text[end : end + 1]
        in_word = before.isalpha() and after.isalpha()
        if len(run) > 3:  # a word of only accented letters: another script
            continue
        lower_before = before.islower()
        for character in run:
            letter = character in _LETTERS and (before.isalpha() or after.isalpha() or len(run) == 1)
            mark = character in _MARKS_OUTSIDE and (not in_word or character == "’")
            good += mark or (letter and not (lower_before and character.isupper()))
    return good / total if total else 1.0


def _western_name(data: bytes) -> str:
    """Latin-1 and windows-1252 differ only in the bytes 0x80 to 0x9f."""
    return "windows-1252" if re.search(rb"[\x80-\x9f]", data) else "iso-8859-1"


def _mostly_utf8(data: bytes) -> str | None:
    """Text in UTF-8 with a few foreign bytes (a pasted line, a cut end): those bytes alone are read as windows-1252."""
    text = data.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= character <= "\udcff" for character in text) if len(text) < 10_000_000 else len(text)
    whole = sum(character > "\x7f" for character in text[:_SAMPLE]) - broken
    if broken == 0 or whole < 3 * broken:
        return None
    return re.sub(
        "[\udc80-\udcff]", lambda found: bytes([ord(found.group()) - 0xDC00]).decode("cp1252", "replace"), text
    )
