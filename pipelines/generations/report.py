"""Generations in words and in JSON, for `vaultline generation list`, `status` and `sync`."""

from typing import Any

from pipelines.storage.generation_states import GenerationDetails


def to_json(row: GenerationDetails) -> dict[str, Any]:
    """One generation as `generation list --json` and `status --json` print it."""
    return {
        "id": row.id,
        "model": row.model,
        "dimensions": row.dimensions,
        "state": row.state,
        "chunks": row.chunks,
        "missing": row.texts_missing,
        "documents_missing": row.documents_missing,
        "held": row.held,
        "problem": row.problem,
        "gate": row.gate,
        "bytes": row.bytes,
        "tokens": row.tokens,
        "cost_usd": round(row.cost_usd, 6),
        "address": row.address,
        "fingerprint": row.fingerprint,
        "created_at": row.created_at.isoformat(timespec="seconds"),
        "activated_at": row.activated_at and row.activated_at.isoformat(timespec="seconds"),
        "left_at": row.left_at and row.left_at.isoformat(timespec="seconds"),
        "retired_at": row.retired_at and row.retired_at.isoformat(timespec="seconds"),
    }


def to_text(row: GenerationDetails) -> str:
    """One generation in a line or two."""
    parts = [f"{row.id:>3}  {row.state:<9} {row.model} ({row.dimensions} numbers), {row.chunks} chunks"]
    if row.state != "retired":
        parts.append(f"{row.bytes / 1e6:.1f} MB")
    if row.documents_missing or row.texts_missing:
        parts.append(f"{row.documents_missing} documents and {row.texts_missing} vectors missing")
    if row.tokens:
        parts.append(f"{row.tokens:,} tokens, ${row.cost_usd:.4f}")
    if row.held:
        parts.append("held: not promoted by itself")
    return ", ".join(parts) + "".join(f"\n     {line}" for line in notes(row))


def migration_line(rows: list[GenerationDetails]) -> str | None:
    """What people should know of a migration under way, or of one that waits; None if there is none."""
    for row in rows:
        if row.state == "building":
            left = f"{row.documents_missing} documents are left"
            state = "complete" if not row.documents_missing and not row.texts_missing else left
            said = "; ".join(notes(row))
            return f"generation {row.id} ({row.model}) is being built: {state}" + (f"; {said}" if said else "")
    return None


def notes(row: GenerationDetails) -> list[str]:
    """What people should know of a generation besides its numbers."""
    found = []
    if row.problem:
        found.append(f"its last run ended early: {row.problem}")
    if row.gate and row.state != "retired":
        failed = [f"{check['name']}: {check['detail']}" for check in row.gate["checks"] if not check["passed"]]
        if row.gate.get("overridden"):
            found.append(f"promoted over the gate ({row.gate['overridden']}): {'; '.join(failed)}")
        elif failed:
            found.append(f"the gate did not pass: {'; '.join(failed)}")
    return found
