"""Golden sets: questions with the passages that answer them, one JSON object a line."""

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import UsageError
from pipelines.retrieval.passage import Passage


@dataclass(frozen=True, slots=True)
class Relevant:
    """What answers a question: a source, perhaps only a section of it, perhaps only where it says something.

    `section` names a heading on the passage's path; `contains` is compared without regard to case and white space.
    """

    source: str
    section: str | None = None
    contains: str | None = None

    def matches(self, passage: Passage) -> bool:
        """Whether a passage is this answer."""
        if passage.source != self.source:
            return False
        if self.section is not None and not _has_section(passage, self.section):
            return False
        return self.contains is None or _folded(self.contains) in _folded(passage.content)


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """One line of a golden set. `relevant` is empty where the vault has no answer."""

    line: int
    question: str
    locale: str | None
    relevant: tuple[Relevant, ...]

    @property
    def answerable(self) -> bool:
        """Whether the vault has an answer."""
        return bool(self.relevant)

    @property
    def key(self) -> str:
        """What a question is recognised by in another run."""
        return hashlib.blake2b(f"{self.locale}\n{self.question}".encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set and a hash of what it asks."""

    name: str
    questions: tuple[GoldenQuestion, ...]

    @property
    def hash(self) -> str:
        """Changes with the questions and their answers, not with their order or the file's name."""
        lines = sorted(repr((question.question, question.locale, question.relevant)) for question in self.questions)
        return hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def load_golden(path: Path) -> GoldenSet:
    """Read a golden set.

    Raises UsageError, which names the file and the line, for a file that cannot be read and a line that is not as
    {"question", "locale"?, "relevant": [{"source", "section"?, "contains"?}], "unanswerable"?: true} says.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the golden set {path} cannot be read: {reason}") from None
    questions = [
        _question(line, f"{path}, line {number}", number)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    if not questions:
        raise UsageError(f"the golden set {path} holds no questions")
    return GoldenSet(path.name, tuple(questions))


def _question(line: str, place: str, number: int) -> GoldenQuestion:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(f"{place}: not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(item, dict):
        raise UsageError(f'{place}: a JSON object is wanted, as in {{"question": "...", "relevant": [...]}}')
    unknown = set(item) - {"question", "locale", "relevant", "unanswerable"}
    if unknown:
        raise UsageError(f"{place}: unknown key {', '.join(sorted(unknown))}")
    question, locale, unanswerable = item.get("question"), item.get("locale"), item.get("unanswerable", False)
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f'{place}: "question" must be a text that is not empty')
    if locale is not None and not isinstance(locale, str):
        raise UsageError(f'{place}: "locale" must be a text, as in "es"')
    if not isinstance(unanswerable, bool):
        raise UsageError(f'{place}: "unanswerable" must be true or false')
    relevant = _relevant(item.get("relevant", []), place)
    if bool(relevant) == unanswerable:
        wanted = "no relevant sources" if unanswerable else 'relevant sources, or "unanswerable": true'
        raise UsageError(f"{place}: the question needs {wanted}")
    return GoldenQuestion(number, question, locale, relevant)


def _relevant(items: Any, place: str) -> tuple[Relevant, ...]:
    if not isinstance(items, list):
        raise UsageError(f'{place}: "relevant" must be a list')
    found = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("source"), str):
            raise UsageError(f'{place}: each of "relevant" must be an object with a "source"')
        wrong = [key for key, value in item.items() if key not in _KEYS or not isinstance(value, str)]
        if wrong:
            raise UsageError(f'{place}: in "relevant", {", ".join(map(repr, wrong))} is unknown or not a text')
        found.append(Relevant(unicodedata.normalize("NFC", item["source"]), item.get("section"), item.get("contains")))
    return tuple(found)


_KEYS: Sequence[str] = ("source", "section", "contains")


def _has_section(passage: Passage, section: str) -> bool:
    wanted = _folded(section)
    path = _folded(passage.section)
    return path == wanted or wanted in (part.strip() for part in path.split(" > ")) or path.endswith(f" > {wanted}")


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
