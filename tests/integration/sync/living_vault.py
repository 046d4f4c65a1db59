"""A vault that tests edit and sync, and what they ask of its index."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.chunking.chunk import hash_text
from pipelines.embedding.canary import CANARY_TEXT
from pipelines.settings import Settings
from pipelines.storage.database import Database
from pipelines.sync import sync
from pipelines.sync_report import SyncReport

_CANARY = hash_text(CANARY_TEXT)


@dataclass
class LivingVault:
    """A folder of notes, its settings and its database. Sources are relative to the root."""

    settings: Settings
    database: Database

    @property
    def root(self) -> Path:
        assert self.settings.vault_path is not None
        return self.settings.vault_path

    def path(self, source: str) -> Path:
        return self.root / source

    def write(self, source: str, text: str | bytes) -> Path:
        path = self.path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def move(self, source: str, target: str) -> None:
        self.path(target).parent.mkdir(parents=True, exist_ok=True)
        self.path(source).rename(self.path(target))

    def remove(self, source: str) -> None:
        path = self.path(source)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def sync(self, *, settings: Settings | None = None, **options: Any) -> SyncReport:
        return sync(settings or self.settings, **options)

    def with_settings(self, **changes: Any) -> Settings:
        """The same vault under other settings."""
        return self.settings.model_copy(update=changes)

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self.database.connect() as connection:
            return connection.execute(statement, parameters).fetchall()  # type: ignore[arg-type]

    def value(self, statement: str, *parameters: object) -> Any:
        return self.rows(statement, *parameters)[0][0]

    def execute(self, statement: str, *parameters: object) -> None:
        with self.database.connect() as connection:
            connection.execute(statement, parameters)  # type: ignore[arg-type]

    def sources(self) -> list[str]:
        """Sources that search can find."""
        return [row[0] for row in self.rows("SELECT DISTINCT source FROM knowledge ORDER BY source")]

    def texts(self, source: str) -> list[str]:
        """What search can find of a document, in order."""
        return [row[0] for row in self.rows("SELECT content FROM knowledge WHERE source = %s ORDER BY ordinal", source)]

    def found(self, word: str) -> list[str]:
        """Sources that hold a word, in any table that readers or later stages use."""
        return [
            row[0]
            for row in self.rows(
                "SELECT source FROM knowledge WHERE content ILIKE %s OR title ILIKE %s OR section ILIKE %s "
                "UNION SELECT source FROM chunk c JOIN document d ON d.id = document_id WHERE content ILIKE %s "
                "UNION SELECT source FROM document WHERE title ILIKE %s ORDER BY 1",
                *[f"%{word}%"] * 5,
            )
        ]

    def quarantined(self) -> dict[str, str]:
        return dict(self.rows("SELECT d.source, q.reason FROM quarantine q JOIN document d ON d.id = q.document_id"))

    def embedded(self) -> Counter[str]:
        """How often each text has been sent to the model so far, by hash; the canary apart."""
        log = self.settings.embedding_fake_log
        assert log is not None
        lines = log.read_text().splitlines() if log.exists() else []
        counted = Counter(text for line in lines for text in json.loads(line)["texts"])
        del counted[_CANARY]
        return counted

    def calls(self) -> int:
        """Texts sent to the model so far."""
        return self.embedded().total()


def backdate(paths: Iterable[Path], *, seconds: float = 3600) -> None:
    """Make files look as if they had been written some time ago, so that their dates can be trusted."""
    for path in paths:
        status = path.stat()
        when = status.st_mtime_ns - int(seconds * 1e9)
        os.utime(path, ns=(when, when))


def note(title: str, *paragraphs: str) -> str:
    """A note with a heading and paragraphs."""
    return "\n\n".join([f"# {title}", *paragraphs]) + "\n"


def long_note(title: str, sections: int, *, words: int = 160, seed: str = "") -> str:
    """A note of sections that are a chunk each: every section has its own words."""
    parts = [f"# {title}"]
    for number in range(1, sections + 1):
        body = " ".join(f"{seed}palabra{number}x{word}" for word in range(words // 4))
        parts += [f"## Section {number}", f"Marker{seed}{number} opens this section. {body}."]
    return "\n\n".join(parts) + "\n"


def environment(settings: Settings) -> dict[str, str]:
    """The environment of a `vaultline` process with these settings."""
    assert settings.database_url is not None
    chosen = {
        "VAULT_PATH": str(settings.vault_path),
        "VAULTLINE_HOME": str(settings.vaultline_home),
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "EMBEDDING_MODEL": settings.embedding_model,
        "EMBEDDING_FAKE_LOG": str(settings.embedding_fake_log or ""),
    }
    kept = {name: value for name, value in os.environ.items() if name.upper().lower() not in Settings.model_fields}
    return {**kept, **chosen, "DAGSTER_DISABLE_TELEMETRY": "1"}


def start(vault: LivingVault, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """Start `vaultline ARGUMENTS` as a process of its own, in an empty folder, so that no .env is found."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *arguments],
        env=environment(vault.settings),
        cwd=vault.root.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
