"""Tokens of a text where there is no tokenizer: an estimate that is meant to be too high, never too low.

Hosted providers count with tokenizers of their own, which cannot be had without a model hub. The weights below are
above what BERT's WordPiece and the usual byte-pair tokenizers give for prose, code and tables in Spanish and English;
tests hold them against real tokenizers. A provider that counts more still says so, and then batches are halved.
"""

import re
import string
from collections.abc import Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

_LONG_RUN = re.compile(r"[!-~]{25,}")  # hexadecimal, base64, addresses: tokens of them are short

PROSE = 1 / 2.8
SIGN = 1.0
OTHER = 1.5
RUN = 1.0

SPECIAL = 2


def _weights() -> NDArray[np.float64]:
    """Weight of every octet of UTF-8: a character beyond ASCII counts by its first one."""
    weights = np.full(256, SIGN)
    weights[[ord(letter) for letter in string.ascii_letters + " \n\t\r"]] = PROSE
    weights[0x80:0xC0] = 0.0
    weights[0xC0:] = OTHER
    return weights


_WEIGHTS = _weights()


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, special tokens included."""
    return ceil(_weight(text)) + SPECIAL


def split_by_estimate(text: str, *, limit: int) -> list[str]:
    """Cut a text into parts of at most `limit` estimated tokens, at white space where there is some.

    The parts together are the whole text. `limit` must be over SPECIAL + 2.
    """
    return list(_split(text, limit))


def halves(text: str) -> tuple[str, str]:
    """A text cut near its middle, at white space where there is some within its middle half."""
    middle = len(text) // 2
    at = _white_space(text, lowest=len(text) // 4, highest=middle) or middle
    return text[:at], text[at:]


def _weight(text: str) -> float:
    run = sum(len(match) for match in _LONG_RUN.findall(text))
    rest = _LONG_RUN.sub("", text) if run else text
    octets = np.frombuffer(rest.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    return run * RUN + float(_WEIGHTS[octets].sum())


def _split(text: str, limit: int) -> Iterator[str]:
    while estimate_tokens(text) > limit:
        low, high = 1, len(text)
        while low < high:  # the longest start that fits
            middle = (low + high + 1) // 2
            low, high = (middle, high) if estimate_tokens(text[:middle]) <= limit else (low, middle - 1)
        at = _white_space(text, lowest=low // 2, highest=low) or low
        yield text[:at]
        text = text[at:]
    yield text


def _white_space(text: str, *, lowest: int, highest: int) -> int | None:
    """The last position after white space in [lowest, highest], or None."""
    for position in range(highest, max(lowest, 1) - 1, -1):
        if text[position - 1].isspace():
            return position
    return None
