"""What decides where a document is cut."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal, Self

from pipelines.chunking.tokens import MAX_TOKENS
from pipelines.settings import Settings

CHUNKER_VERSION = 1
"""Raised with every change of the code that can move a boundary or change a chunk's text."""

CHARACTERS_PER_TOKEN = 8
"""A run of letters without white space may be one token, however long. Prose has four to five characters a token, so
this bounds only what is not prose."""


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How documents are cut; every field is part of the chunker's fingerprint.

    `max_tokens` bounds the embedded text (heading path and content) of every chunk. `target_tokens` is where the
    structural strategy stops joining blocks; a single block may still fill `max_tokens`. `min_tokens` is the size
    below which a rest joins a neighbour. `overlap_sentences` repeats that many sentences of the chunk before.
    """

    strategy: Literal["structural", "paragraph"] = "structural"
    max_tokens: int = MAX_TOKENS
    target_tokens: int = MAX_TOKENS
    min_tokens: int = 32
    overlap_sentences: int = 0
    heading_path: bool = True
    title: bool = True

    def __post_init__(self) -> None:
        if not 32 <= self.max_tokens <= MAX_TOKENS:
            raise ValueError(f"max_tokens is {self.max_tokens}, allowed are 32 to {MAX_TOKENS}")
        if not 1 <= self.target_tokens <= self.max_tokens:
            raise ValueError(f"target_tokens is {self.target_tokens}, allowed are 1 to max_tokens ({self.max_tokens})")

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The options that the `CHUNK_*` settings ask for; a target above the maximum means the maximum."""
        return cls(
            strategy=settings.chunk_strategy,
            max_tokens=settings.chunk_max_tokens,
            target_tokens=min(settings.chunk_target_tokens, settings.chunk_max_tokens),
            min_tokens=settings.chunk_min_tokens,
            overlap_sentences=settings.chunk_overlap_sentences,
            heading_path=settings.chunk_heading_path,
            title=settings.chunk_title,
        )

    @property
    def max_characters(self) -> int:
        """The most characters an embedded text may have, whatever its tokens say."""
        return self.max_tokens * CHARACTERS_PER_TOKEN


def chunker_fingerprint(options: ChunkOptions, tokenizer_fingerprint: str) -> str:
    """32 hexadecimal characters: documents chunked under another fingerprint are chunked again."""
    known = {"version": CHUNKER_VERSION, "tokenizer": tokenizer_fingerprint, **asdict(options)}
    canonical = json.dumps(known, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
