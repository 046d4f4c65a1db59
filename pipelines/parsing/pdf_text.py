"""Characters of a PDF's text layer made into the ones that people write and search for, and junk told from text."""

import re
import unicodedata

# Compatibility forms are folded block by block, not by NFKC over everything: that would turn 10² into 102, ½ into
# 1⁄2 and ª into a. Each range here exists only for fonts and old encodings.
FOLDED = (
    (0x2F00, 0x2FDF),  # Kangxi radicals, which CJK fonts map to instead of the characters
    (0xFB00, 0xFB06),  # Latin ligatures: fi, ffl
    (0xFB13, 0xFB4F),  # Armenian ligatures, Hebrew presentation forms
    (0xFB50, 0xFDFB),  # Arabic presentation forms A
    (0xFE70, 0xFEFC),  # Arabic presentation forms B
    (0xFF10, 0xFF19),  # full-width digits and letters
    (0xFF21, 0xFF3A),
    (0xFF41, 0xFF5A),
    (0x1D400, 0x1D7FF),  # mathematical alphabets: bold, italic, script
)
SPACES = re.compile(r"[\t\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\x0b\x0c\x1c-\x1f\x85]")
# Controls, soft hyphens, zero-width marks that join nothing, direction marks, byte-order marks, lone surrogates,
# and code points that are not characters. The joiners U+200C and U+200D stay: Persian and Hindi are spelled with them.
DROPPED = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    r"\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
# Fonts of TeX's old encodings draw an accent and a letter as two characters, the accent on either side.
ACCENTS = {"´": "\u0301", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "ˇ": "\u030c", "˘": "\u0306",
           "˚": "\u030a", "˙": "\u0307", "˛": "\u0328", "˝": "\u030b"}  # fmt: skip
_ACCENTED = re.compile(rf"([^\W\d_]?)([{''.join(ACCENTS)}])( ?[^\W\d_]|)")
_CID = re.compile(r"\(cid:\d+\)")
_JUNK = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
JUNK_SHARE = 0.2
"""A text layer is junk from this share of unreadable characters on: symbols in private use (bullets, logos) stay far
below it, a font without a Unicode map is at 1."""


def normalize_line(text: str) -> str:
    """One line of a page as it is stored: no control characters, no compatibility forms, single spaces, NFC.

    Unreadable characters (private use, U+FFFD) and `(cid:N)` marks become a space.
    """
    text = SPACES.sub(" ", text)
    text = DROPPED.sub("", text)
    if not text.isascii():
        text = "".join(unicodedata.normalize("NFKC", one) if _is_folded(one) else one for one in text)
        text = _join_accents(text)
        text = unicodedata.normalize("NFC", text)
    text = _CID.sub(" ", text)
    text = _JUNK.sub(" ", text)
    return re.sub(" {2,}", " ", text).strip()


def _is_folded(character: str) -> bool:
    point = ord(character)
    return point > 0x2EFF and any(first <= point <= last for first, last in FOLDED)


def _join_accents(text: str) -> str:
    """`constara´`, `n˜` and `´ındice` with their letter, where the pair is a letter that exists."""
    return _ACCENTED.sub(lambda found: _place_accent(found[1], found[2], found[3]), text)


def _place_accent(before: str, accent: str, after: str) -> str:
    """The accent on one of its neighbours: a dotless i waits for one; else letters of Spanish and French come first."""
    follower = after.strip()
    if follower and ACCENTS[accent] in unicodedata.normalize("NFD", follower):
        return before + follower  # drawn twice
    first, second = _compose(before, accent), _compose(follower, accent)
    if second is not None and (follower in "ıȷ" or first is None or (first > "ÿ" and second <= "ÿ")):
        return before + second
    if first is not None:
        return first + after
    return before + accent + after


def _compose(letter: str, accent: str) -> str | None:
    letter = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    composed = unicodedata.normalize("NFC", letter + ACCENTS[accent])
    return composed if letter and len(composed) == 1 else None


def junk_share(text: str) -> float:
    """Share of a page's visible characters that stand for no readable text, 0 to 1; 0 for an empty page.

    Counts control and private-use characters, U+FFFD and `(cid:N)`, which is what extraction gives for fonts
    without a Unicode map.
    """
    cids = sum(len(mark[0]) for mark in _CID.finditer(text))
    visible = sum(1 for character in text if not character.isspace())
    if visible == 0:
        return 0.0
    return min(1.0, (cids + len(_JUNK.findall(text))) / visible)


def is_junk(text: str) -> bool:
    """Whether a text layer must be treated as none."""
    return junk_share(text) >= JUNK_SHARE


_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def words_of(lines: list[str]) -> frozenset[str]:
    """Words as the document itself spells them, hyphenated ones whole, in lower case; for `join_lines`.

    The two halves of a word broken at a line's end are not in it.
    """
    found: set[str] = set()
    for line in lines:
        words = list(_WORD.finditer(line))
        if words and line.rstrip().endswith("-"):
            words.pop()
        found.update(word[0].lower() for word in words)
    return frozenset(found)


def join_lines(first: str, second: str, words: frozenset[str]) -> str:
    """Two lines of one paragraph as running text; a word broken by a hyphen at the end of `first` made whole.

    A hyphen stays where the document spells the word with one elsewhere (`well-known`), and before anything but a
    lower-case letter (`SHA-` `256`, `Jean-` `Paul`).
    """
    if not first or not second:
        return first + second
    if first[-1] in "-\u2010" and len(first) > 1 and first[-2].isalpha():
        if not second[0].isalpha():
            return first + second if second[0].isdigit() else f"{first} {second}"
        before = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*$", first[:-1])
        after = _WORD.match(second)
        if before is None or after is None:
            return f"{first} {second}"
        whole = (before[0] + after[0]).lower()
        hyphenated = f"{before[0]}-{after[0]}".lower()
        if whole not in words and hyphenated in words:
            return first + second
        if second[0].islower():
            return first[:-1] + second
        return first + second
    if _is_unspaced(first[-1]) and _is_unspaced(second[0]):
        return first + second
    return f"{first} {second}"


def _is_unspaced(character: str) -> bool:
    """Whether the script (Chinese, Japanese, Thai) puts no space between words, so that a line break is none either."""
    point = ord(character)
    return 0x0E00 <= point <= 0x0E7F or 0x3000 <= point <= 0x30FF or 0x3400 <= point <= 0x9FFF or point >= 0xFF00
