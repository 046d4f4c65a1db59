"""A small table that the user can correct."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.embedding.prices import cost, price_per_million
from pipelines.errors import SettingsError
from pipelines.settings import Settings

MakeSettings = Callable[..., Settings]


def test_local_models_cost_nothing(settings: MakeSettings) -> None:
    assert price_per_million("sentence-transformers/all-MiniLM-L6-v2", settings()) == 0
    assert cost("fake/demo-64", 10**9, settings()) == 0


def test_unknown_is_unknown(settings: MakeSettings) -> None:
    assert price_per_million("voyage/voyage-99", settings()) is None
    assert cost("openai/some-model", 1_000, settings()) is None


def test_known_price(settings: MakeSettings) -> None:
    price = price_per_million("voyage/voyage-3", settings())
    assert price is not None
    assert cost("voyage/voyage-3", 2_000_000, settings()) == pytest.approx(2 * price)


def test_openai_s_price_is_not_that_of_another_server(settings: MakeSettings) -> None:
    assert price_per_million("openai/text-embedding-3-small", settings()) is not None
    other = settings(embedding_base_url="http://127.0.0.1:11434/v1")
    assert price_per_million("openai/text-embedding-3-small", other) is None


@pytest.mark.parametrize("as_file", [False, True])
def test_user_corrects_it(settings: MakeSettings, tmp_path: Path, as_file: bool) -> None:
    table = '{"voyage/voyage-3": 0.5, "openai/mine": 0}'
    if as_file:
        (tmp_path / "prices.json").write_text(table)
        table = str(tmp_path / "prices.json")
    own = settings(embedding_prices=table)
    assert price_per_million("voyage/voyage-3", own) == 0.5
    assert price_per_million("openai/mine", own) == 0
    assert price_per_million("voyage/voyage-3.5", own) == price_per_million("voyage/voyage-3.5", settings())


@pytest.mark.parametrize(
    "value", ["{", '{"a": "cheap"}', '{"a": -1}', '{"a": true}', '{"a": NaN}', "/no/such/file.json"]
)
def test_table_that_cannot_be_read(settings: MakeSettings, value: str) -> None:
    with pytest.raises(SettingsError, match="EMBEDDING_PRICES"):
        price_per_million("voyage/voyage-3", settings(embedding_prices=value))
