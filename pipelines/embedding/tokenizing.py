"""Text -> the windows of token ids that a local model reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

SLICE = 1024
"""Texts encoded at once: an encoding takes about a hundred bytes a token."""


@dataclass(frozen=True, slots=True)
class Window:
    """What the model reads at once. `text` is the index of the text it belongs to; `ids` has the special tokens."""

    text: int
    ids: list[int]


class TextTokenizer:
    """A model's own tokenizer, without the truncation and padding that tokenizer.json may ask for.

    `max_tokens` counts special tokens, and so does every count here.
    """

    def __init__(self, file: Path, *, max_tokens: int, lower_case: bool = False) -> None:
        self._tokenizer = _load(file)
        self._lower_case = lower_case
        self._max_tokens = max_tokens
        self._before, self._after = _special_ids(self._tokenizer)

    def windows(self, texts: Sequence[str], *, prefix: str = "") -> list[Window]:
        """Split every text into as few windows of equal size as hold all of it, cut where a word starts.

        Texts that fit give one window, of exactly the tokens that sentence-transformers would read. `prefix` is in
        front of every window. Raises ModelUnavailable where the prefix alone fills the window.
        """
        found: list[Window] = []
        for start in range(0, len(texts), SLICE):
            encodings = self._encode([prefix + text for text in texts[start : start + SLICE]])
            for index, encoding in enumerate(encodings, start):
                if len(encoding.ids) + self._special <= self._max_tokens:
                    found.append(Window(index, [*self._before, *encoding.ids, *self._after]))
                else:
                    found.extend(self._split(index, texts[index], prefix))
        return found

    def count(self, texts: Sequence[str], *, prefix: str = "") -> list[int]:
        """Tokens of every text with prefix and special tokens, as if the window had no end."""
        counts: list[int] = []
        for start in range(0, len(texts), SLICE):
            encodings = self._encode([prefix + text for text in texts[start : start + SLICE]])
            counts.extend(len(encoding.ids) + self._special for encoding in encodings)
        return counts

    def prefix_tokens(self, prefix: str) -> int:
        """Tokens that a prefix takes at the front, the special ones before it included."""
        return len(self._before) + len(self._encode([prefix])[0].ids)

    @property
    def _special(self) -> int:
        return len(self._before) + len(self._after)

    def _encode(self, texts: list[str]) -> "list[Encoding]":
        if self._lower_case:
            texts = [text.lower() for text in texts]
        return self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    def _split(self, index: int, text: str, prefix: str) -> list[Window]:
        before = [*self._before, *self._encode([prefix])[0].ids]
        room = self._max_tokens - len(before) - len(self._after)
        if room < 1:
            raise ModelUnavailable(
                f"the prefix takes {len(before)} of the model's {self._max_tokens} tokens: no room for text"
            )
        encoding = self._encode([text])[0]
        parts = _parts(encoding.ids, encoding.word_ids, room)
        return [Window(index, [*before, *part, *self._after]) for part in parts]


def _parts(ids: list[int], words: Sequence[int | None], room: int) -> list[list[int]]:
    """Cut `ids` into parts of at most `room`, of about equal size, at the start of a word where one is near."""
    parts: list[list[int]] = []
    start = 0
    while start < len(ids):
        left = len(ids) - start
        size = ceil(left / ceil(left / room))
        end = start + size
        if end < len(ids):
            end = _word_start(words, end, lowest=start + max(1, size // 2))
        parts.append(ids[start:end])
        start = end
    return parts


def _word_start(words: Sequence[int | None], position: int, *, lowest: int) -> int:
    for candidate in range(position, lowest, -1):
        if words[candidate] is None or words[candidate] != words[candidate - 1]:
            return candidate
    return position


def _load(file: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception for a missing and for a damaged file
        raise ModelUnavailable(f"the tokenizer {file} cannot be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _special_ids(tokenizer: "Tokenizer") -> tuple[list[int], list[int]]:
    """The special tokens in front of and behind a text, found by encoding one word with and without them."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    full = tokenizer.encode("a", add_special_tokens=True).ids
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return full[:start], full[start + len(bare) :]
    return [], []
