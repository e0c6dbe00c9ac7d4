"""Charges: what calls to models cost and may cost; reserved before a call, settled after it."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from core.domain.budget import Budget, BudgetRules, Charge, ChargeState
from core.domain.reply import Spent
from core.domain.task import TaskId
from core.errors import BudgetSpent, DayBudgetSpent, PriceUnknown, SwarmError
from core.process import surely_dead, this_process
from core.retrying import retried
from core.store.protocol import Reader, Store, Transaction

SETTLED = "charges"
"""Rung whenever a call was settled: less may be reserved than before."""
LOOK_SECONDS = 2.0
LONGEST_CALL_SECONDS = 3600.0
"""An open charge older than this belongs to nobody any more."""


class Settlement(NamedTuple):
    """What became of the charges of a call."""

    new: Sequence[Charge] = ()
    settled: Sequence[Charge] = ()
    dropped: Sequence[str] = ()


def book(tx: Transaction, settlement: Settlement) -> None:
    for charge in settlement.new:
        tx.add_charge(charge)
    for charge in settlement.settled:
        tx.settle_charge(charge)
    for name in settlement.dropped:
        tx.drop_charge(name)
    if settlement.settled or settlement.dropped:
        tx.ring(SETTLED)


class Charges:
    def __init__(self, store: Store, rules: BudgetRules) -> None:
        self._store = store
        self._rules = rules
        self.process = str(this_process())
        self._budgets: dict[TaskId, Budget] = {}
        """What this process knows of budgets; looked up again before a call is refused."""

    @retried
    async def give(self, root: TaskId, budget: Budget) -> None:
        """This budget for a request, in place of what the settings say."""
        async with self._store.transaction() as tx:
            tx.put_budget(root, budget)
        self._budgets.pop(root, None)

    @retried
    async def bounded(self, root: TaskId) -> bool:
        """Some budget holds for it."""
        if root not in self._budgets:
            await self.budget_of(root)
        return bool(self._budgets[root] or self._rules.of_day)

    async def budget_of(self, root: TaskId) -> Budget:
        async with self._store.read() as reader:
            return await self._budget(reader, root)

    @retried
    async def has_room(self, root: TaskId) -> bool:
        """One more call as large as the largest so far fits into its budget."""
        async with self._store.read() as reader:
            budget = await self._budget(reader, root)
            spent, charges = await reader.spent(root), await reader.charges(root)
        tokens = max((one.estimated_tokens for one in charges), default=1)
        usd = max((one.estimated_usd or 0.0 for one in charges), default=0.0)
        return budget.without_reserve().fits(
            spent.input_tokens + spent.output_tokens + spent.estimated_tokens + tokens,
            (spent.cost_usd or 0.0) + spent.estimated_usd + usd,
        )

    @retried
    async def of(self, root: TaskId) -> list[Charge]:
        async with self._store.read() as reader:
            return await reader.charges(root)

    async def reserve(self, charge: Charge, *, last: bool = False) -> None:
        """Before a call: it fits, or it is not made. The last one may use what was kept back."""
        while True:
            ear = self._store.bell.listen(SETTLED)
            error, may_pass = await self._reserved(charge, last=last)
            if error is None:
                return
            if not may_pass:
                raise error
            await ear.wait(LOOK_SECONDS)

    @retried
    async def _reserved(self, charge: Charge, *, last: bool) -> tuple[SwarmError | None, bool]:
        async with self._store.transaction() as tx:
            error, may_pass = await self._refusal(tx, charge, last=last)
            if error is None:
                tx.add_charge(charge)
            return error, may_pass

    @retried
    async def settle(self, settlement: Settlement) -> None:
        async with self._store.transaction() as tx:
            book(tx, settlement)

    async def _budget(self, reader: Reader, root: TaskId) -> Budget:
        own = await reader.budget(root)
        found = self._budgets[root] = self._rules.of_request if own is None else own
        return found

    async def _refusal(
        self, tx: Transaction, charge: Charge, *, last: bool
    ) -> tuple[SwarmError | None, bool]:
        """Why it does not fit, and whether it may once calls under way are settled."""
        root, known = charge.root, self._budgets.get(charge.root)
        budget = await self._budget(tx, root) if known is None else known
        day = self._rules.of_day
        if charge.estimated_usd is None and (budget.usd is not None or day.usd is not None):
            return PriceUnknown("", charge.model), False
        if budget:
            bound = budget if last else budget.without_reserve()
            fits, may_pass = await self._fits(tx, charge, bound, await tx.spent(root))
            if not fits:
                del self._budgets[root]
                return BudgetSpent(root, str(budget)), may_pass
        if day:
            midnight = day_began(tx.now)
            fits, may_pass = await self._fits(tx, charge, day, await tx.spent_since(midnight))
            if not fits:
                return DayBudgetSpent(str(day), midnight + 86_400 - tx.now), may_pass
        return None, False

    async def _fits(
        self, tx: Transaction, charge: Charge, bound: Budget, spent: Spent
    ) -> tuple[bool, bool]:
        used = spent.input_tokens + spent.output_tokens
        usd = (spent.cost_usd or 0.0) + (charge.estimated_usd or 0.0)
        tokens = used + charge.estimated_tokens
        if bound.fits(tokens + spent.estimated_tokens, usd + spent.estimated_usd):
            return True, False
        under_way = [one for one in await tx.charges(charge.root) if _is_under_way(one, tx.now)]
        return False, bool(under_way) and bound.fits(tokens, usd)


def day_began(now: float) -> float:
    """The last midnight of the clock on the wall."""
    year, month, day, *_ = time.localtime(now)
    return time.mktime((year, month, day, 0, 0, 0, 0, 0, -1))


def _is_under_way(charge: Charge, now: float) -> bool:
    if charge.state is not ChargeState.OPEN or now - charge.ts > LONGEST_CALL_SECONDS:
        return False
    return not surely_dead(charge.process)
