"""Any value that YAML, TOML or JSON gives -> a value that Postgres stores as jsonb, within bounds."""

import datetime
import math
from typing import Any

from pipelines.parsing.document import Json
from pipelines.parsing.encoding import clean_text

# Bounds of one document's properties. A note that a person writes has some dozens of values; what is beyond these
# comes from a tool, and is cut with a warning.
MOST_VALUES = 10_000
MOST_ITEMS = 1_000
MOST_CHARACTERS = 10_000
MOST_CHARACTERS_IN_ALL = 200_000
DEEPEST = 12


def storable(properties: dict[Any, Any]) -> tuple[dict[str, Json], list[str]]:
    """Properties with string keys and JSON values, and a warning where something did not fit.

    Aliases of YAML can make a few lines into billions of values and can go round in circles, so that values are
    counted here, where they are unfolded.
    """
    budget = _Budget()
    values = budget.convert(properties, 0)
    warnings = ["the metadata is larger than is kept: it was cut"] if budget.cut else []
    return values if isinstance(values, dict) else {}, warnings


class _Budget:
    def __init__(self) -> None:
        self.values = MOST_VALUES
        self.characters = MOST_CHARACTERS_IN_ALL
        self.cut = False

    def convert(self, value: Any, depth: int) -> Json:
        self.values -= 1
        if self.values < 0 or self.characters < 0 or depth > DEEPEST:
            self.cut = True
            return None
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return value if abs(value) < 2**63 else self._text(hex(value))
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, dict):
            return {self._key(key): self.convert(item, depth + 1) for key, item in self._first(list(value.items()))}
        if (target := _unquoted_wikilink(value)) is not None:
            return self._text(f"[[{target}]]")
        if isinstance(value, list | tuple | set | frozenset):
            return [self.convert(item, depth + 1) for item in self._first(list(value))]
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        return self._text(str(value))

    def _first(self, items: list[Any]) -> list[Any]:
        most = min(MOST_ITEMS, max(0, self.values))
        self.cut |= len(items) > most
        return items[:most]

    def _key(self, key: Any) -> str:
        if isinstance(key, bool):
            return "true" if key else "false"
        return "null" if key is None else self._text(str(key))

    def _text(self, text: str) -> str:
        most = min(MOST_CHARACTERS, max(0, self.characters))
        self.cut |= len(text) > most
        text = clean_text(text[:most])
        self.characters -= len(text) + 1
        return text


def _unquoted_wikilink(value: Any) -> str | None:
    """The target of `[[Note]]` without quotes, which is a list in a list to YAML."""
    match value:
        case [[str(target)]]:
            return target
    return None
