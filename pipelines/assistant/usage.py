"""What a turn has cost."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read (`cached_tokens` of them from the provider's cache) and written, and dollars where they are known.

    `model` is None where no model was asked.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    model: str | None = None

    def to_json(self) -> dict[str, Any]:
        """`usage` of an event or a turn."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "cost": self.cost,
            "model": self.model,
        }
