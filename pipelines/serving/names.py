"""Text from callers that is looked up in the database."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator


def _storable(text: str) -> str:
    if not _can_be_stored(text):
        raise ValueError("must not hold U+0000 or half a surrogate pair")
    return text


Word = Annotated[str, AfterValidator(_storable)]
"""A word that Postgres can compare with what it stores."""


def name_of(source: str) -> str | None:
    """A document's name as a scan writes it, or None for what no document can be called."""
    return unicodedata.normalize("NFC", source) if source and _can_be_stored(source) else None


def _can_be_stored(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
