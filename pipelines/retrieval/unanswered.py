"""Questions that found no good answer: counted, listed, and exported as drafts for people to write the missing note.

Drafts are the only thing that Vaultline ever writes near a vault, only when asked to, only into `agent_learnings/`, and
never over a file that is there.
"""

import contextlib
import os
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipelines.errors import DatabaseError, VaultUnavailable
from pipelines.parsing.anonymize import anonymize_text, name_pattern
from pipelines.parsing.contacts import find_contacts
from pipelines.parsing.secrets import find_secrets
from pipelines.retrieval.passage import SearchResult
from pipelines.settings import Settings
from pipelines.storage import unanswered as storage
from pipelines.storage.database import Connection, Database
from pipelines.storage.unanswered import Unanswered

FOLDER = "agent_learnings"
LONGEST = 500
"""Characters of a question that are kept: longer ones are pasted text, not questions."""

_UNSAFE = re.compile(r"[^\w\- ]+")


def record(database: Database, result: SearchResult, settings: Settings) -> bool:
    """Count an unanswered question; False if it was answered, the setting says not to keep any, or it cannot be kept.

    An answer does not fail for it: a standby is read-only, a disk may be full. Contacts, secrets and the names that the
    vault anonymises are masked first. Who asked is never known here.
    """
    if result.answered or not settings.record_unanswered:
        return False
    asked = mask(" ".join(result.query.split()), settings.parse_anonymize)[:LONGEST]
    question = _folded(asked)
    if not question:
        return False
    similarity = max((passage.similarity or 0.0 for passage in result.results), default=None)
    try:
        with database.connect() as connection:
            storage.record(
                connection, question=question, asked=asked, locale=result.locale or "", similarity=similarity
            )
    except DatabaseError:
        return False
    return True


def most_asked(database: Database, *, limit: int = 100) -> list[Unanswered]:
    """Unanswered questions, the most frequent first."""
    with database.connect() as connection:
        return storage.most_asked(connection, limit=limit)


def export_drafts(database: Database, vault: Path, *, limit: int = 100) -> list[Path]:
    """Write a FAQ draft for every unanswered question that has none yet; returns the files written.

    Raises VaultUnavailable if the vault, or `agent_learnings` in it, is not a folder that can be written to.
    """
    folder = _folder_of(vault)
    written = []
    exported = []
    try:
        folder.mkdir(exist_ok=True)
        for item in most_asked(database, limit=limit):
            if item.exported_at is None:
                path = _write_new(folder, item)
                if path is not None:
                    written.append(path)
                exported.append(item.question)
    except OSError as error:
        raise VaultUnavailable(f"cannot write drafts into {folder}: {error.strerror}") from error
    finally:
        if exported:
            with database.connect() as connection:
                storage.mark_exported(connection, exported)
    return written


def export_draft(connection: Connection, vault: Path, item: Unanswered) -> Path | None:
    """Write a FAQ draft for one question; None if there are 99 of that name already.

    Raises VaultUnavailable as `export_drafts`.
    """
    folder = _folder_of(vault)
    try:
        folder.mkdir(exist_ok=True)
        path = _write_new(folder, item)
    except OSError as error:
        raise VaultUnavailable(f"cannot write a draft into {folder}: {error.strerror}") from error
    if path is not None:
        storage.mark_exported(connection, [item.question])
    return path


def mask(text: str, names: Sequence[str]) -> str:
    """Text without e-mail addresses, telephone numbers, secrets and the given names."""
    spans = [(secret.start, secret.end, "[removed]") for secret in find_secrets(text)]
    spans += [(start, end, placeholder) for start, end, placeholder in find_contacts(text)]
    for start, end, placeholder in sorted(spans, reverse=True):
        text = text[:start] + placeholder + text[end:]
    pattern = name_pattern(tuple(names))
    return text if pattern is None else anonymize_text(text, pattern)


def draft(item: Unanswered) -> str:
    """A note for people to finish: unpublished, so that a question never becomes its own answer."""
    title = item.asked.replace("\\", "\\\\").replace('"', '\\"')
    spanish = item.locale.startswith("es")
    advice = (
        "Borrador: escribe aquí la respuesta, quita `publish: false` y mueve la nota a su sitio."
        if spanish
        else "Draft: write the answer here, remove `publish: false` and move the note to its place."
    )
    today = datetime.now(UTC).date().isoformat()
    return (
        f'---\ntitle: "{title}"\npublish: false\nstatus: draft\nasked: {item.times}\n'
        f"first_asked: {item.first_at.date().isoformat()}\nlast_asked: {item.last_at.date().isoformat()}\n"
        f"created: {today}\ntags: [faq, draft]\n---\n\n# {_one_line(item.asked)}\n\n{advice}\n"
    )


def _folder_of(vault: Path) -> Path:
    if not vault.is_dir():
        raise VaultUnavailable(f"the vault {vault} is not a folder: drafts go into its {FOLDER}/")
    folder = vault / FOLDER
    if folder.is_symlink():
        raise VaultUnavailable(f"{folder} is a link: drafts are only written into a folder of the vault itself")
    return folder


def _write_new(folder: Path, item: Unanswered) -> Path | None:
    stem = _stem(item.asked)
    for number in range(1, 100):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem} ({number}).md")
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(draft(item))
            return path
    return None


def _stem(question: str) -> str:
    plain = _UNSAFE.sub(" ", unicodedata.normalize("NFC", question))
    return " ".join(plain.split())[:60].strip(" .-") or "question"


def _one_line(text: str) -> str:
    # A heading of the draft must not become a link, an embed or a comment in Obsidian.
    return re.sub(r"[\[\]`|%<>#^]", " ", text).strip()


def _folded(text: str) -> str:
    words = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[¿?¡!.,;:\"'()]+", " ", words).split())
