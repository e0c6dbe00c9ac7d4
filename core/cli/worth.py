"""What a plan will cost, before it is worked on: an estimate from what calls have cost so far."""

from collections.abc import Sequence
from typing import NamedTuple

from core.app import Swarm
from core.cli.planned import Estimate, whole_estimate
from core.domain.budget import Budget
from core.domain.task import Task

BIG_PLAN_CALLS = 20
"""Of a plan with so many calls the cost is told before it runs."""
TOKENS_A_CALL = 2_500
"""Before any call was settled here."""


class Worth(NamedTuple):
    calls: Estimate
    tokens: tuple[int, int]
    usd: tuple[float, float] | None

    def __str__(self) -> str:
        few, many = self.tokens
        more = " or more" if self.calls.open_end else ""
        said = f"{self.calls}, about {_between(f'{few:,}', f'{many:,}')}{more} tokens"
        if self.usd is None:
            return said
        return f"{said}, {_between(f'${self.usd[0]:.2f}', f'${self.usd[1]:.2f}')}{more}"

    def exceeds(self, budget: Budget) -> bool:
        """Even the cheapest way would."""
        return not budget.fits(self.tokens[0], self.usd[0] if self.usd is not None else None)

    def as_data(self) -> dict[str, object]:
        usd = None if self.usd is None else list(self.usd)
        return {"tokens": list(self.tokens), "usd": usd}


async def worth(swarm: Swarm, family: Sequence[Task]) -> Worth:
    calls = whole_estimate(family, swarm.rules)
    async with swarm.store.read() as reader:
        spent = await reader.spent_since(0)
    used = spent.input_tokens + spent.output_tokens
    a_call = used / spent.calls if used else TOKENS_A_CALL
    tokens = (round(calls.least * a_call), round(calls.most * a_call))
    priced = spent.calls - spent.unpriced
    if spent.cost_usd is None or not priced:
        return Worth(calls, tokens, None)
    each = spent.cost_usd / priced
    return Worth(calls, tokens, (calls.least * each, calls.most * each))


async def before_a_big_plan(swarm: Swarm, family: Sequence[Task]) -> str | None:
    """What to tell of a plan that will cost much, or more than it may."""
    found = await worth(swarm, family)
    budget = await swarm.board.charges.budget_of(family[0].root)
    if found.exceeds(budget):
        return f"the plan is more than its budget of {budget} allows: {found} (an estimate)"
    if found.calls.most >= BIG_PLAN_CALLS:
        return f"a big plan: {found} (an estimate)"
    return None


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"
