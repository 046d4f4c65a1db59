"""What a sync did, for people and for programs."""

import time
from dataclasses import dataclass, field
from typing import Any

from pipelines.generations.report import migration_line
from pipelines.intake.plan import Plan
from pipelines.storage import generation_states, reports
from pipelines.storage.database import Connection
from pipelines.vault.folders import folder_label

Figures = dict[str, dict[str, float]]

_CHANGES = ("added", "changed", "moved", "deleted")


@dataclass(frozen=True)
class SyncReport:
    """What a sync did; `to_json` is the contract of `vaultline sync --json`."""

    folders: tuple[str, ...]
    documents: dict[str, int]
    parsed: dict[str, int]
    chunks: dict[str, int]
    embeddings: dict[str, int]
    generations: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    notice: str | None = None
    migration: str | None = None

    @property
    def exit_code(self) -> int:
        """0 done, 3 done but something is quarantined."""
        return 3 if self.documents["quarantined"] else 0

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        return {
            "folders": list(self.folders),
            "documents": self.documents,
            "parsed": self.parsed,
            "chunks": self.chunks,
            "embeddings": self.embeddings,
            "generations": self.generations,
            "seconds": self.seconds,
        }

    def to_text(self, *, dry_run: bool = False) -> str:
        """A few lines for people."""
        if self.notice:
            return self.notice
        changes = ", ".join(f"{self.documents[name]} {name}" for name in _CHANGES if self.documents[name])
        if dry_run:
            where = ", ".join(folder_label(key) for key in self.folders)
            return f"would process {where}: {changes or 'no changed files'}" if where else "nothing to do"
        if not self.folders and self.embeddings["computed"]:
            texts = self.embeddings["computed"]
            return f"no file changed; {texts} texts embedded for another model ({self.seconds:.1f} s)"
        if not self.folders:
            done = self.migration or "nothing to do"
            return f"{done}: {self.documents['seen']} files, none changed ({self.seconds:.1f} s)"
        lines = [
            f"{self.documents['seen']} files in the vault: {changes or 'none changed'}",
            f"{self.parsed['computed']} parsed, {self.parsed['reused']} reused"
            + (f", {self.parsed['ocr_pages']} pages by OCR" if self.parsed["ocr_pages"] else ""),
            f"{self.chunks['total']} chunks: {self.chunks['added']} added, {self.chunks['removed']} removed",
            f"{self.embeddings['computed']} embedded, {self.embeddings['reused']} reused ({self.seconds:.1f} s)",
        ]
        if self.documents["quarantined"]:
            lines.append(f"{self.documents['quarantined']} in quarantine: see `vaultline quarantine list`")
        if self.migration:
            lines.append(self.migration)
        return "\n".join(lines)


def make_report(connection: Connection, todo: Plan, totals: Figures, *, dry_run: bool, started: float) -> SyncReport:
    """The report of a sync that began at `started` (monotonic clock), from the plan and the figures of its runs."""

    def figure(stage: str, name: str) -> int:
        return int(totals.get(stage, {}).get(name, 0))

    states = reports.count_states(connection)
    found = todo.foreseen() if dry_run else {name: figure("raw_files", name) for name in _CHANGES}
    seen = len(todo.seen.scan.files)
    documents = {
        "seen": seen,
        **found,
        "unchanged": max(0, seen - states["excluded"] - found["added"] - found["changed"] - found["moved"]),
        "excluded": states["excluded"],
        "quarantined": states["quarantined"],
    }
    computed = figure("embeddings", "embedded")
    return SyncReport(
        folders=todo.folders,
        documents=documents,
        parsed={
            "computed": figure("parsed_text", "parsed"),
            "reused": max(0, figure("chunks", "documents") - figure("parsed_text", "parsed")),
            "ocr_pages": figure("parsed_text", "ocr_pages"),
        },
        chunks={
            "total": reports.count_chunks(connection),
            "added": figure("chunks", "added"),
            "removed": figure("chunks", "removed"),
        },
        embeddings={
            "computed": computed,
            "reused": max(0, figure("chunks", "chunks") - computed),
            "truncated": figure("embeddings", "truncated"),
            "tokens": figure("embeddings", "tokens"),
        },
        generations=[
            {name: row[name] for name in ("id", "model", "state", "chunks", "missing")}
            for row in reports.generation_report(connection)
        ],
        seconds=round(time.monotonic() - started, 3),
        notice=todo.notice,
        migration=migration_line(generation_states.details(connection)),
    )
