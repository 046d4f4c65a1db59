"""What an agent learned, as a draft that a person reads before it becomes knowledge.

Drafts go into `agent_learnings/` of the vault, as new files, and nowhere else. They say `publish: false`: nothing that
an agent wrote is searched until a person has taken that line out.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import yaml

from pipelines.errors import VaultlineError, VaultUnavailable
from pipelines.retrieval.unanswered import FOLDER

MOST_DRAFTS = 200
"""Files in the folder from which on nothing more is proposed: nobody seems to read them."""

_UNSAFE = re.compile(r"[^\w\- ]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_NAME_LENGTH = 60


class DraftRefused(VaultlineError):
    """A draft is not written, for a reason that the caller may know."""


def write_draft(vault: Path, *, title: str, content: str, tags: Sequence[str] = (), sources: Sequence[str] = ()) -> str:
    """Write a new note and return its path relative to the vault.

    A file that is there is never touched: the name gets a number. Links are not followed, neither the folder nor a
    file. Raises DraftRefused, VaultUnavailable.
    """
    now = datetime.now(UTC)
    text = _note(title, content, tags=tags, sources=sources, now=now)
    stem = f"{now:%Y-%m-%d} {_stem(title)}"
    try:
        with _opened(vault) as folder:
            if len(os.listdir(folder)) >= MOST_DRAFTS:  # noqa: PTH208 - of a descriptor, which no Path has
                raise DraftRefused(f"{FOLDER}/ holds {MOST_DRAFTS} files: a person has to sort them first")
            for number in range(1, 100):
                name = f"{stem}.md" if number == 1 else f"{stem} ({number}).md"
                if _create(folder, name, text):
                    return f"{FOLDER}/{name}"
    except OSError as error:
        raise VaultUnavailable(f"cannot write a draft into {vault / FOLDER}: {error.strerror}") from error
    raise DraftRefused("there are 99 drafts of that title today: give another title")


@contextmanager
def _opened(vault: Path) -> Iterator[int]:
    """The drafts' folder, made if it is missing, as a descriptor: what it names cannot be changed while it is used."""
    root = os.open(vault, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            os.mkdir(FOLDER, dir_fd=root)
        except FileExistsError:
            if stat.S_ISLNK(os.stat(FOLDER, dir_fd=root, follow_symlinks=False).st_mode):
                raise DraftRefused(f"{FOLDER} is a link: drafts are only written into a folder of the vault") from None
        folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    finally:
        os.close(root)
    try:
        yield folder
    finally:
        os.close(folder)


def _create(folder: int, name: str, text: str) -> bool:
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    except FileExistsError:
        return False
    try:
        with closing(os.fdopen(handle, "w", encoding="utf-8", newline="\n")) as file:
            file.write(text)
    except OSError:
        os.unlink(name, dir_fd=folder)  # ours, and half a note
        raise
    return True


def _note(title: str, content: str, *, tags: Sequence[str], sources: Sequence[str], now: datetime) -> str:
    clean = " ".join(_CONTROLS.sub(" ", title).split())
    properties = {
        "title": clean,
        "publish": False,
        "status": "draft",
        "created": now.date().isoformat(),
        "author": "agent",
        "tags": [_CONTROLS.sub("", tag) for tag in tags],
        "sources": [_CONTROLS.sub("", source) for source in sources],
    }
    head = yaml.safe_dump(properties, allow_unicode=True, sort_keys=False, width=1_000)
    body = _CONTROLS.sub("", content.replace("\r\n", "\n").replace("\r", "\n")).strip()
    return f"---\n{head}---\n\n# {clean}\n\n{body}\n"


def _stem(title: str) -> str:
    plain = " ".join(_UNSAFE.sub(" ", unicodedata.normalize("NFC", title)).split())
    while len(plain.encode()) > _NAME_LENGTH * 2 or len(plain) > _NAME_LENGTH:
        plain = plain[:-1]
    return plain.strip(" .-") or "learning"
