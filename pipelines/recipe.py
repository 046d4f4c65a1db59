"""What the settings want of every stage, as options and fingerprints: the right-hand side of "is this row pending?"."""

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from typing import Self, get_args

from pipelines.chunking.chunker import chunker_fingerprint
from pipelines.chunking.options import ChunkOptions
from pipelines.chunking.tokens import ChunkTokenizer, load_chunk_tokenizer
from pipelines.parsing import ocr
from pipelines.parsing.document import MediaType
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parser_fingerprint
from pipelines.settings import Settings

_DESCRIBER_VERSION = 1
"""Grows when title, locale, properties or dates of a document are derived in another way."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Options and fingerprints of parsing, chunking and describing. `parsers` maps media types to fingerprints."""

    parsing: ParseOptions
    chunking: ChunkOptions
    parsers: dict[str, str]
    chunker: str
    describer: str
    default_locale: str

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Derive everything from the settings. Raises ModelUnavailable if the chunker's tokenizer is missing."""
        parsing, chunking = ParseOptions.from_settings(settings), ChunkOptions.from_settings(settings)
        described = f"{_DESCRIBER_VERSION}/{settings.default_locale}"
        return cls(
            parsing=parsing,
            chunking=chunking,
            parsers={media_type: _parser(media_type, parsing) for media_type in get_args(MediaType)},
            chunker=chunker_fingerprint(chunking, tokenizer().fingerprint),
            describer=hashlib.blake2b(described.encode(), digest_size=4).hexdigest(),
            default_locale=settings.default_locale,
        )

    def beside(self, notes: str) -> Self:
        """The same for notes whose text depends on all notes, of which `notes` is a digest."""
        both = f"{self.parsers['markdown']}/{notes}"
        fingerprint = hashlib.blake2b(both.encode(), digest_size=8).hexdigest()
        return replace(self, parsers={**self.parsers, "markdown": fingerprint})


def _parser(media_type: MediaType, options: ParseOptions) -> str:
    fingerprint = parser_fingerprint(media_type, options)
    if media_type != "pdf":
        return fingerprint
    # Not an option but the machine: once an engine is installed, pages that were skipped for want of one are read.
    return hashlib.blake2b(f"{fingerprint}/{ocr.identity(options)}".encode(), digest_size=8).hexdigest()


@cache
def tokenizer() -> ChunkTokenizer:
    """The tokenizer that counts a chunk's budget, whatever the embedding model is. Reading it takes 0.1 s: once."""
    return load_chunk_tokenizer()
