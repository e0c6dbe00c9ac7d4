"""Prices: what tokens of a model cost, from the user's own list or the public one; else unknown."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from core.domain.budget import Price
from core.domain.task import Usage
from core.llm.client import THIS_MACHINE

MILLION = 1_000_000
Rate = Callable[[Usage], float | None]


class Prices:
    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._own = dict(own or {})
        self._rates: dict[tuple[str, str], Rate | None] = {}

    def cost(self, server: str, model: str, usage: Usage) -> float | None:
        """Dollars, or None: a price nobody knows is not nothing."""
        rate = self._rate(server, model)
        return None if rate is None else rate(usage)

    def knows(self, server: str, model: str) -> bool:
        return self._rate(server, model) is not None

    def context_tokens(self, server: str, model: str) -> int | None:
        """How much the model reads at once, where the list knows it."""
        if not server.startswith("https://"):
            return None
        from genai_prices.data_snapshot import get_snapshot

        try:
            return get_snapshot().find_provider_model(model, None, None, server)[1].context_window
        except LookupError:
            return None

    def _rate(self, server: str, model: str) -> Rate | None:
        place = (server, model)
        if place not in self._rates:
            own = self._own.get(model)
            self._rates[place] = _own_rate(own) if own is not None else _listed(server, model)
        return self._rates[place]


def _own_rate(price: Price) -> Rate:
    cached = price.input if price.cached_input is None else price.cached_input
    return _flat(price.input, cached, price.output)


def _flat(dollars_in: float, dollars_cached: float, dollars_out: float) -> Rate:
    def rate(usage: Usage) -> float:
        fresh = usage.input_tokens - usage.cached_tokens
        return (
            fresh * dollars_in
            + usage.cached_tokens * dollars_cached
            + usage.output_tokens * dollars_out
        ) / MILLION

    return rate


def _listed(server: str, model: str) -> Rate | None:
    """From the list that came with the package; only the maker's own servers are in it."""
    if server == THIS_MACHINE:
        return _flat(0, 0, 0)
    if not server.startswith("https://"):
        return None
    # A tenth of a second to load, for those who call a server with a price.
    from genai_prices import Usage as ListUsage
    from genai_prices import calc_price

    def rate(usage: Usage) -> float | None:
        counted = ListUsage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
            output_tokens=usage.output_tokens,
        )
        return float(calc_price(counted, model, provider_api_url=server).total_price)

    try:
        found = calc_price(ListUsage(input_tokens=1), model, provider_api_url=server)
    except LookupError:
        return None
    price: Any = found.model_price
    flat = (price.input_mtok, price.cache_read_mtok or price.input_mtok, price.output_mtok)
    if all(isinstance(one, Decimal) for one in flat):
        return _flat(*(float(one) for one in flat))
    return rate
