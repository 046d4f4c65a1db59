"""An answer without a language model: the best passages, cited."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.assistant.citations import Checker
from pipelines.assistant.phrases import phrase
from pipelines.retrieval.snippet import snippet

_HEADINGS = re.compile(r"\A(?:#{1,6} [^\n]*\n+)+")
"""Headings that a passage begins with: they stand above it already."""

SHOWN = 3
"""Passages of one answer; the rest are sources beside it."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage for an answer. `text` is None where it cannot be read any more."""

    n: int
    source: str
    title: str
    section: str
    text: str | None


def compose(excerpts: Sequence[Excerpt], query: str, language: str) -> list[str]:
    """The pieces of an answer in Markdown. Nothing in a note is a citation, an image or a tag."""
    pieces = [phrase("found", language)]
    for excerpt in excerpts[:SHOWN]:
        if excerpt.text is None:
            pieces.append(f"\n\n**{_plain(excerpt.source)}** [{excerpt.n}]\n\n> {phrase('gone', language)}")
        else:
            body = _HEADINGS.sub("", excerpt.text) or excerpt.text
            pieces.append(f"\n\n**{_head(excerpt)}** [{excerpt.n}]\n\n{quoted(snippet(body, query))}")
    return pieces


def _head(excerpt: Excerpt) -> str:
    path = excerpt.section.split(" > ") if excerpt.section else []
    title = excerpt.title or excerpt.source
    return " › ".join(_plain(part) for part in ([] if path[:1] == [title] else [title]) + path)


def quoted(text: str) -> str:
    """Text of a note as a quotation: its Markdown stays, what could pass for ours goes."""
    checker = Checker(lambda _: False, lambda address: address in text, quoting=True)
    clean = checker.feed(text.strip()) + checker.finish()
    return "\n".join(f"> {line}".rstrip() for line in clean.split("\n"))


def _plain(text: str) -> str:
    """One line in which no sign is Markdown's."""
    one_line = " ".join(text.split())
    return "".join(f"\\{char}" if char in r"\`*_[]<>!#|~&" else char for char in one_line)
