"""What hosted models cost, in US dollars for a million tokens.

The defaults are what the providers' pages said to the best of our knowledge in January 2026. Prices change: check them
on your provider's page before you rely on a sum, and correct them by EMBEDDING_PRICES, which is JSON or the name of a
file of it: {"voyage/voyage-3": 0.06}. A model that is not in the table has no price, which is shown as unknown, never
as a guess. Free allowances and taxes are not in it.
"""

import json
from pathlib import Path

from pipelines.errors import SettingsError
from pipelines.settings import Settings

AS_OF = "2026-01"

DEFAULTS = {
    "voyage/voyage-3": 0.06,
    "voyage/voyage-3-lite": 0.02,
    "voyage/voyage-3-large": 0.18,
    "voyage/voyage-3.5": 0.06,
    "voyage/voyage-3.5-lite": 0.02,
    "voyage/voyage-code-3": 0.18,
    "openai/text-embedding-3-small": 0.02,
    "openai/text-embedding-3-large": 0.13,
    "openai/text-embedding-ada-002": 0.10,
}

FREE = ("sentence-transformers", "fake")


def price_per_million(model: str, settings: Settings) -> float | None:
    """Dollars for a million tokens of `provider/model`: 0 on this machine, None where it is not known.

    A default for `openai/` counts only at OpenAI's own address: another server at EMBEDDING_BASE_URL sets its own.
    Raises SettingsError where EMBEDDING_PRICES cannot be read.
    """
    own = _own_prices(settings)
    if model in own:
        return own[model]
    provider = model.partition("/")[0]
    if provider in FREE:
        return 0.0
    if provider == "openai" and settings.embedding_base_url is not None:
        return None
    return DEFAULTS.get(model)


def cost(model: str, tokens: int, settings: Settings) -> float | None:
    """Dollars for this many tokens, or None where the price is not known."""
    price = price_per_million(model, settings)
    return None if price is None else price * tokens / 1_000_000


def _own_prices(settings: Settings) -> dict[str, float]:
    value = (settings.embedding_prices or "").strip()
    if not value:
        return {}
    where = "EMBEDDING_PRICES"
    if not value.startswith("{"):
        where = f"EMBEDDING_PRICES={value}"
        try:
            value = Path(value).expanduser().read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{where} is neither JSON nor a file that can be read: {error}") from error
    try:
        table = json.loads(value)
    except ValueError as error:
        raise SettingsError(f"{where} is not JSON: {error}") from error
    if not isinstance(table, dict) or not all(_is_price(price) for price in table.values()):
        raise SettingsError(f'{where} must be like {{"voyage/voyage-3": 0.06}}: dollars per million tokens, 0 or more')
    return {str(model): float(price) for model, price in table.items()}


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
