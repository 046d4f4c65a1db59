"""A chunk: the unit that is embedded, searched and cited."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CountTokens = Callable[[Sequence[str]], list[int]]
"""Numbers of tokens of texts, without the model's special tokens."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one document and its place.

    `content` is what people read. `context` (the heading path, or empty) is embedded in front of it and is not
    part of it. `start` and `end` are character offsets into the parsed text; lines are 1-based and inclusive, of
    the file; pages are 1-based and inclusive, or None where the file has none. `tokens` counts `embedded_text`.
    """

    ordinal: int
    content: str
    context: str
    section: tuple[str, ...]
    start: int
    end: int
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None
    tokens: int

    @property
    def embedded_text(self) -> str:
        """The text whose vector stands for this chunk."""
        return embedded_text(self.context, self.content)

    @property
    def text_hash(self) -> str:
        """Key of the vector: the same text is embedded once, anywhere."""
        return hash_text(self.embedded_text)


def embedded_text(context: str, content: str) -> str:
    """Join a chunk's heading path and its content the way every model sees it."""
    return f"{context}\n\n{content}" if context else content


def hash_text(text: str) -> str:
    """32 hexadecimal characters of BLAKE2b over the UTF-8 bytes."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
