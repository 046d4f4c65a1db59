"""What `vaultline status` tells."""

from dataclasses import dataclass
from typing import Any

from pipelines.generations import report
from pipelines.resources.store import Store
from pipelines.settings import Settings
from pipelines.storage import documents, generation_states, ledger, reports
from pipelines.storage.database import Connection
from pipelines.vault.folders import folder_label
from pipelines.vault.roots import vault_root

_SHOWN = 10


@dataclass(frozen=True)
class Status:
    """The state of the index; `to_json` is the contract of `vaultline status --json`."""

    vault: str | None
    documents: dict[str, int]
    chunks: int
    folders: list[dict[str, Any]]
    generations: list[dict[str, Any]]
    quarantine: list[dict[str, Any]]
    warnings: list[tuple[str, str]]
    last_run: dict[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        return {
            "vault": self.vault,
            "documents": self.documents,
            "chunks": self.chunks,
            "folders": self.folders,
            "generations": self.generations,
            "quarantine": self.quarantine,
        }

    def to_text(self) -> str:
        """The same for people."""
        counts = ", ".join(f"{count} {state}" for state, count in self.documents.items() if count) or "no documents"
        lines = [
            f"vault       {self.vault or '(neither VAULT_PATH nor VAULT_GIT_URL is set)'}",
            f"documents   {counts}; {self.chunks} chunks",
        ]
        for row in self.generations:
            gap = f", {row['missing']} chunks missing" if row["missing"] else ""
            gap += "".join(f"; {note}" for note in row["notes"])
            lines.append(
                f"generation  {row['id']} {row['state']}: {row['model']} ({row['dimensions']} numbers), "
                f"{row['chunks']} chunks{gap}"
            )
        lines += [
            f"folder      {folder_label(row['folder'])}: {row['documents']} documents, {row['chunks']} chunks"
            + (f", {row['pending']} pending" if row["pending"] else "")
            for row in self.folders
        ]
        lines += [f"quarantine  {row['source']}: {row['reason']}" for row in self.quarantine]
        lines += [f"warning     {source}: {warning}" for source, warning in self.warnings[:_SHOWN]]
        if len(self.warnings) > _SHOWN:
            lines.append(f"            and {len(self.warnings) - _SHOWN} more warnings: see vaultline doctor")
        if self.last_run is not None:
            lines.append(f"last run    {self.last_run['started_at']}, {self.last_run['seconds']} s")
        return "\n".join(lines)


def read_status(settings: Settings) -> Status:
    """Ask the database. The vault itself is not looked at: `vaultline sync --dry-run` does that."""
    store = Store(settings)
    recipe, root = store.recipe, vault_root(settings)
    with store.database.connect() as connection:
        pending = reports.pending_folders(
            connection, parsers=recipe.parsers, chunker=recipe.chunker, describer=recipe.describer
        )
        states = reports.count_states(connection)
        runs = ledger.last_runs(connection, 1)
        return Status(
            vault=None if root is None else str(root),
            documents=states | {"pending": sum(pending.values())},
            chunks=reports.count_chunks(connection),
            folders=[
                {
                    "folder": row["folder"],
                    "documents": int(row["documents"]),
                    "chunks": int(row["chunks"]),
                    "pending": pending.get(row["folder"], 0),
                }
                for row in reports.folder_report(connection)
            ],
            generations=generation_rows(connection),
            quarantine=[{**row, "since": row["since"].isoformat()} for row in documents.quarantined(connection)],
            warnings=reports.document_warnings(connection),
            last_run={
                "run": runs[0]["dagster_run"],
                "started_at": runs[0]["started_at"].isoformat(timespec="seconds"),
                "seconds": round(runs[0]["seconds"], 1),
                "stages": runs[0]["stages"],
            }
            if runs
            else None,
        )


def generation_rows(connection: Connection) -> list[dict[str, Any]]:
    """Progress, spending and the gate's verdict of every generation, with the folders that a live one still lacks."""
    details = {row.id: row for row in generation_states.details(connection)}
    rows = []
    for row in reports.generation_report(connection):
        known = details[row["id"]]
        live = row["state"] in ("building", "previous")
        waiting = generation_states.backlog(connection, row["id"]) if live else {}
        rows.append(
            {
                **report.to_json(known),
                **row,
                "chunks": int(row["chunks"]),
                "notes": report.notes(known),
                "folders_missing": waiting,
            }
        )
    return rows
