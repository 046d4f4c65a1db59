"""Names of people taken out, in every case and accent form.

The limit: only the names that are listed, and only as they are written there. A person who is described (a role, a
date, a place) can still be recognised.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from pipelines.parsing.document import Json
from pipelines.parsing.properties import find, words_of

PLACEHOLDER = "[anonymized]"
PLACEHOLDER_WORD = "anonymized"
"""For tags and targets of links, which hold no spaces and brackets."""

# Between the parts of a name: nothing (login names), spaces, marks of file names and addresses, a line end in a quote.
_BETWEEN = r"(?:[\s_.+\-]|%20|\n[ >]*)*"


def names_in(properties: dict[str, Json]) -> tuple[str, ...]:
    """The names that a note lists under `anonymize`."""
    return tuple(words_of(find(properties, "anonymize", "anonymise", "anonimizar")))


@lru_cache(maxsize=256)
def name_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern that finds the names; longer ones first. None: no names."""
    parts = sorted({_pattern(name) for name in names if any(map(str.isalnum, name))} - {""}, key=len, reverse=True)
    if not parts:
        return None
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})(?![^\W_])", re.IGNORECASE)


def anonymize_text(text: str, pattern: re.Pattern[str], placeholder: str = PLACEHOLDER) -> str:
    """Text with the placeholder for every name; as many line ends as before."""
    return pattern.sub(lambda found: placeholder + "\n" * found.group().count("\n"), text)


def _pattern(name: str) -> str:
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKD", name.casefold()).translate(_MARKS).translate(_PLAIN))
    return _BETWEEN.join("".join(_letter(character) for character in word) for word in words)


_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i"})
"""Letters that Unicode does not take apart into a plain one and a mark."""
_MARKS = dict.fromkeys(range(0x300, 0x370))


def _letter(character: str) -> str:
    """The letter with any of its accents, in one character or as letter and marks."""
    return f"{_variants().get(character, re.escape(character))}[\u0300-\u036f]*"


@lru_cache(maxsize=1)
def _variants() -> dict[str, str]:
    """For each plain letter the class of all Latin letters that it becomes with accents."""
    classes: dict[str, set[str]] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        accented = chr(code)
        plain = unicodedata.normalize("NFKD", accented.casefold()).translate(_MARKS)
        if len(plain) == 1 and plain.isalpha():
            classes.setdefault(plain, {plain}).update((accented, accented.casefold()[:1]))
    for plain, others in {"o": "øØ", "l": "łŁ", "d": "đĐ", "i": "ıİ"}.items():
        classes.setdefault(plain, {plain}).update(others)
    return {plain: f"[{''.join(sorted(letters))}]" for plain, letters in classes.items()}


def joined_names(*lists: Iterable[str]) -> tuple[str, ...]:
    """All names, each once, in a stable order."""
    return tuple(sorted({" ".join(name.split()) for names in lists for name in names if name.strip()}))
