"""What a run may spend, in tokens and money, and what it has spent."""

from collections.abc import Sequence

from pipelines.errors import BudgetExceeded, SettingsError

MILLION = 1_000_000


class Budget:
    """The caps of one run over all of its generations. Asked before texts are sent, told after they came back.

    `max_cost` in dollars, `max_tokens` in the provider's tokens; None is no cap.
    """

    def __init__(self, *, max_cost: float | None = None, max_tokens: int | None = None) -> None:
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.cost = 0.0
        self.tokens = 0

    @property
    def capped(self) -> bool:
        """Whether there is anything to ask for."""
        return self.max_cost is not None or self.max_tokens is not None

    def affordable(self, tokens: Sequence[int], *, model: str, price: float | None) -> int:
        """How many of the texts, from the first on, fit into what is left; `tokens` are safe estimates.

        `price` is dollars per million tokens, None where it is not known. Raises BudgetExceeded if not even the first
        fits, SettingsError if a cap in money meets a model without a price.
        """
        if self.max_cost is not None and price is None:
            raise SettingsError(
                f"EMBEDDING_MAX_COST is set and the price of {model} is not known: "
                f'set EMBEDDING_PRICES, as in {{"{model}": 0.06}} (dollars per million tokens)'
            )
        spent, count = self.tokens, 0
        for number in tokens:
            if not self._allows(spent + number, price):
                break
            spent += number
            count += 1
        if tokens and count == 0:
            raise BudgetExceeded(
                f"{model}: the cap of this run is reached ({self._caps()}; {self.tokens:,} tokens and ${self.cost:.4f} "
                "spent). What was embedded is kept: raise the cap or run again to go on"
            )
        return count

    def spend(self, tokens: int, *, price: float | None) -> float:
        """Note what was used; returns its price in dollars."""
        cost = tokens * (price or 0.0) / MILLION
        self.tokens += tokens
        self.cost += cost
        return cost

    def _allows(self, tokens: int, price: float | None) -> bool:
        if self.max_tokens is not None and tokens > self.max_tokens:
            return False
        cost = self.cost + (tokens - self.tokens) * (price or 0.0) / MILLION
        return self.max_cost is None or cost <= self.max_cost

    def _caps(self) -> str:
        caps = []
        if self.max_cost is not None:
            caps.append(f"EMBEDDING_MAX_COST=${self.max_cost:g}")
        if self.max_tokens is not None:
            caps.append(f"EMBEDDING_MAX_RUN_TOKENS={self.max_tokens:,}")
        return ", ".join(caps)
