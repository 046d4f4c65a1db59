"""Caps stop before they are passed, and say what they are."""

import pytest

from pipelines.errors import BudgetExceeded, SettingsError
from pipelines.generations.budget import Budget

MODEL = "voyage/voyage-3"


def test_without_a_cap_everything_is_affordable() -> None:
    budget = Budget()
    assert not budget.capped
    assert budget.affordable([10**9] * 3, model=MODEL, price=None) == 3
    assert budget.spend(1_000_000, price=None) == 0.0


def test_tokens_stop_before_the_cap() -> None:
    budget = Budget(max_tokens=100)
    assert budget.affordable([40, 40, 40], model=MODEL, price=0.0) == 2
    budget.spend(80, price=0.0)
    assert budget.affordable([20, 1], model=MODEL, price=0.0) == 1
    with pytest.raises(BudgetExceeded, match=r"EMBEDDING_MAX_RUN_TOKENS=100; 80 tokens and \$0\.0000 spent.*kept"):
        budget.affordable([21], model=MODEL, price=0.0)


def test_money_stops_before_the_cap_and_adds_up_over_models() -> None:
    budget = Budget(max_cost=0.10)
    assert budget.spend(1_000_000, price=0.06) == pytest.approx(0.06)
    assert budget.affordable([400_000, 400_000], model=MODEL, price=0.06) == 1
    assert budget.affordable([10**9], model="fake/x-64", price=0.0) == 1, "what is free is always affordable"
    with pytest.raises(BudgetExceeded, match=r"EMBEDDING_MAX_COST=\$0\.1"):
        budget.affordable([1_000_000], model=MODEL, price=0.06)


def test_a_cap_in_money_needs_a_price() -> None:
    with pytest.raises(SettingsError, match="the price of openai/own is not known: set EMBEDDING_PRICES"):
        Budget(max_cost=1.0).affordable([1], model="openai/own", price=None)
    assert Budget(max_tokens=5).affordable([1], model="openai/own", price=None) == 1


def test_nothing_to_ask_for_is_never_too_much() -> None:
    assert Budget(max_tokens=0).affordable([], model=MODEL, price=0.0) == 0
