"""How many numbers a served model's vectors have: asked once, remembered, and checked at every answer."""

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.embedding.canary import CANARY_TEXT
from pipelines.embedding.protocol import ModelSpec, Role
from pipelines.embedding.retrying import Pace, with_patience
from pipelines.settings import Settings

if TYPE_CHECKING:
    from pipelines.embedding.hosted import Transport

PATIENCE = 10.0
_ASKED = "dimensions="


def known_dimensions(transport: "Transport", spec: ModelSpec, settings: Settings) -> int:
    """Dimensions of the model behind an address, from this home's memory, else by embedding the canary once.

    Raises as `Transport.request`, and ProviderUnavailable after a few seconds: nothing was started yet.
    """
    memory = _memory(spec, transport.address, settings)
    try:
        remembered = json.loads(memory.read_text())["dimensions"]
    except (OSError, ValueError, KeyError, TypeError):
        remembered = None
    if isinstance(remembered, int) and remembered > 0:
        return remembered
    from threading import Event

    reply = with_patience(
        lambda: transport.request(
            [spec.document_prefix + CANARY_TEXT], role=Role.DOCUMENT, timeout=settings.embedding_timeout_seconds
        ),
        pace=Pace(),
        tokens=0,
        patience=PATIENCE,
        stop=Event(),
    )
    dimensions = int(reply.vectors.shape[1])
    _remember(memory, spec, dimensions)
    return dimensions


def forget_dimensions(spec: ModelSpec, address: str | None, settings: Settings) -> None:
    """After an answer of another size: the next start asks again, and so finds the new model."""
    _memory(spec, address, settings).unlink(missing_ok=True)


def sized_revision(dimensions: int | None) -> str:
    """The revision of a hosted model, which remembers that a size was asked for."""
    return f"{_ASKED}{dimensions}" if dimensions else ""


def asked_size(spec: ModelSpec) -> int | None:
    """The size to ask the provider for, None for the model's own."""
    return spec.dimensions if spec.revision.startswith(_ASKED) else None


def _memory(spec: ModelSpec, address: str | None, settings: Settings) -> Path:
    key = hashlib.blake2b(f"{spec.name}|{address}|{spec.revision}".encode(), digest_size=16).hexdigest()
    return settings.vaultline_home / "models" / "hosted" / f"{key}.json"


def _remember(memory: Path, spec: ModelSpec, dimensions: int) -> None:
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        temporary = memory.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"model": spec.name, "dimensions": dimensions}))
        temporary.replace(memory)
    except OSError:
        return  # asked again at the next start
