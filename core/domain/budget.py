"""Budgets: how much may be spent, and whether a call still fits."""

from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from core.domain.task import AgentName, TaskId, Usage

KEPT_FOR_THE_ANSWER = 0.1
"""This part of a request's budget is for the honest partial answer when the rest is spent."""


class Price(BaseModel):
    """Of a model nobody has a price list for; dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: float = Field(ge=0, description="Dollars for a million tokens sent.")
    output: float = Field(ge=0, description="Dollars for a million tokens that come back.")
    cached_input: float | None = Field(
        default=None, ge=0, description="Dollars for a million tokens the server had read before."
    )


class BudgetRules(BaseModel):
    """Off unless set; then a hard stop."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    request_tokens: int | None = Field(default=None, ge=1, description="Tokens of one request.")
    request_usd: float | None = Field(default=None, gt=0, description="Dollars of one request.")
    day_tokens: int | None = Field(default=None, ge=1, description="Tokens of a day.")
    day_usd: float | None = Field(default=None, gt=0, description="Dollars of a day.")
    prices: dict[str, Price] = Field(
        default={}, description="Dollars for a million tokens of models without a known price."
    )

    @property
    def of_request(self) -> "Budget":
        return Budget(self.request_tokens, self.request_usd)

    @property
    def of_day(self) -> "Budget":
        return Budget(self.day_tokens, self.day_usd)


class Budget(NamedTuple):
    """None: no bound."""

    tokens: int | None = None
    usd: float | None = None

    def __bool__(self) -> bool:
        return self.tokens is not None or self.usd is not None

    def without_reserve(self) -> "Budget":
        left = 1 - KEPT_FOR_THE_ANSWER
        return Budget(
            None if self.tokens is None else int(self.tokens * left),
            None if self.usd is None else self.usd * left,
        )

    def fits(self, tokens: int, usd: float | None) -> bool:
        """Whether so much is within it; what has no price counts as free."""
        if self.tokens is not None and tokens > self.tokens:
            return False
        return self.usd is None or (usd or 0.0) <= self.usd

    def __str__(self) -> str:
        tokens = [] if self.tokens is None else [f"{self.tokens:,} tokens"]
        usd = [] if self.usd is None else [f"${self.usd:,.2f}"]
        return " and ".join(tokens + usd) or "no bound"


NO_BUDGET = Budget()


class ChargeState(StrEnum):
    OPEN = "open"
    """Reserved; the call is under way, or its process died in the middle of it."""
    SETTLED = "settled"
    """The server said what it counted."""
    UNKNOWN = "unknown"
    """It was sent, and nobody knows what the server counted; its estimate is kept."""


class Charge(NamedTuple):
    """What one call to a model costs: reserved before it, settled after it."""

    id: str
    root: TaskId
    task: TaskId
    agent: AgentName
    label: str
    model: str
    process: str
    """Who makes the call."""
    ts: float = 0.0
    state: ChargeState = ChargeState.OPEN
    estimated_tokens: int = 0
    estimated_usd: float | None = None
    input_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those the server had read before."""
    output_tokens: int = 0
    cost_usd: float | None = None

    def settled(self, usage: Usage) -> "Charge":
        """With what the server counted."""
        counted = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.cost_usd)
        return Charge._make((*self[:8], _DONE, *self[9:11], *counted))


_DONE = ChargeState.SETTLED
