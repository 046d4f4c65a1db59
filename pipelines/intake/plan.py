"""What a sync would do, from a look at the vault and the tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.errors import UsageError
from pipelines.intake.look import Look, Part, look, settle
from pipelines.resources.store import Store
from pipelines.storage import reports
from pipelines.storage.database import Connection
from pipelines.vault.folders import UPLOADS, UPLOADS_KEY, folder_key, is_upload


@dataclass(frozen=True)
class Plan:
    """What a sync would do. `folders` are partition keys; `notice` is a reason to leave the vault's alone."""

    folders: tuple[str, ...]
    seen: Look
    notice: str | None = None

    @property
    def present(self) -> list[str]:
        """Partition keys of every folder that the vault or the tables have."""
        return sorted({*self.seen.folders.values(), *(row.folder for row in self.seen.known.values())})

    @property
    def brings_text(self) -> bool:
        """Whether a file is of a size that no vanished one had: else they are moves, likely, which need no model."""
        vanished = Counter(row.size for row in self.seen.differences.vanished)
        return bool(Counter(file.size for file in self.seen.differences.to_read) - vanished)

    def foreseen(self) -> dict[str, int]:
        """Changes as far as they show without reading a file: a move shows as one added and one deleted."""
        selected = set(self.folders)
        different, folders = self.seen.differences, self.seen.folders
        to_read = [file for file in different.to_read if folders[file.source] in selected]
        gone = [row for row in (*different.vanished, *different.shut_out) if row.folder in selected]
        added = sum(file.source not in self.seen.known for file in to_read)
        return {"added": added, "changed": len(to_read) - added, "moved": 0, "deleted": len(gone)}


def plan(
    store: Store,
    connection: Connection,
    *,
    folders: Sequence[str] = (),
    full: bool = False,
    allow_deletes: bool = False,
) -> Plan:
    """Look at the vault and the tables and name the folders with work, of `folders` (names) or of all."""
    part = part_of(folders)
    seen = settle(store, connection, look(store, connection, full=full, confirm_deletes=allow_deletes, part=part))
    notice = None
    if part == "all" and not allow_deletes and all(is_upload(source) for source in seen.scan.files):
        held = sum(row.content_hash is not None for row in seen.known.values() if not is_upload(row.source))
        kept = f"; the {held} documents of the index stay (--allow-deletes removes them)" if held else ""
        notice = f"the vault {store.vault} holds no documents{kept}"
    recipe = store.recipe
    wanted = seen.touched_folders() | set(
        reports.pending_folders(connection, parsers=recipe.parsers, chunker=recipe.chunker, describer=recipe.describer)
    )
    if wanted and recipe.parsing.resolve_embeds:
        wanted |= set(seen.folders.values())  # any note's text may hold the changed one's
    if folders:
        present = {UPLOADS_KEY, *seen.folders.values(), *(row.folder for row in seen.known.values())}
        chosen = {name if name in present else folder_key(name.strip("/")) for name in folders}
        unknown = chosen - present
        if unknown:
            raise UsageError(f"no folder {', '.join(sorted(unknown))} in {store.vault}")
        wanted &= chosen
    if part == "uploads" or notice is not None:
        wanted &= {UPLOADS_KEY}
    return Plan(tuple(sorted(wanted)), seen, notice)


def part_of(folders: Sequence[str]) -> Part:
    """Uploads alone are indexed without a look at the vault, which may be away."""
    return "uploads" if folders and {name.strip("/") for name in folders} <= {UPLOADS, UPLOADS_KEY} else "all"
