"""A vault of any size, made from real notes with variations: no text occurs twice, so that every one is embedded."""

import os
import re
from itertools import count
from pathlib import Path

FOLDERS = 40
CHARACTERS = 1_200
"""Longest note, cut at a blank line: what people write in one sitting, and 12,000 of them are indexed in minutes."""

_REPOSITORY = Path(__file__).resolve().parents[1]
_CORPORA = ("handbook", "runbooks", "glossary_en_es", "help_vault")
_FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def originals() -> list[str]:
    """Texts of the example vault's notes and, where they are, of the shared corpora's, without frontmatter."""
    shared = _REPOSITORY.parent / "shared" / "data"
    roots = [_REPOSITORY / "examples" / "vault", *(shared / name for name in _CORPORA if (shared / name).is_dir())]
    paths = [path for root in roots for path in sorted(root.rglob("*.md")) if path.is_file()]
    texts = (_shortened(path.read_text(encoding="utf-8", errors="replace")) for path in paths)
    return [text for text in texts if len(text) > 200]


def make_vault(root: Path, notes: int) -> int:
    """Write that many notes into folders; returns their characters. Old dates, so that none is too young to trust."""
    texts = originals()
    total = 0
    for number in range(notes):
        text = _varied(texts[number % len(texts)], number)
        path = root / f"area {number % FOLDERS:02}" / f"note {number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        total += len(text)
    return total


def _shortened(text: str) -> str:
    body = _FRONTMATTER.sub("", text.replace("\r\n", "\n"))
    if len(body) <= CHARACTERS:
        return body
    end = body.rfind("\n\n", 0, CHARACTERS)
    return body[: end if end > 200 else CHARACTERS]


def _varied(text: str, number: int) -> str:
    """The same note with something of its own in every paragraph: a case number, as ticket systems write them."""
    numbers = count(1)

    def own(paragraph: str) -> str:
        literal = paragraph.lstrip().startswith(("```", "|", "#"))
        return paragraph if literal else f"{paragraph} (case {number}-{next(numbers)})"

    paragraphs = [own(paragraph) for paragraph in re.split(r"\n{2,}", text)]
    return "\n\n".join([*paragraphs, own("The end.")])  # a note may be nothing but a table
