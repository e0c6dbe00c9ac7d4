"""Paying: what a call may cost is reserved before it and settled after it, whatever comes."""

import itertools
import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

import anyio

from core.charges import Charges, Settlement
from core.domain.budget import Charge, ChargeState
from core.domain.task import NO_USAGE, AgentName, Task, Usage
from core.llm.client import LLM, Bill, Call, Reply
from core.llm.estimates import Estimates
from core.llm.prices import Prices

LAST_WORDS_SECONDS = 5.0
"""How long the board may take to hear what a call cost when everything stops."""
PARTIAL = "partial"
"""The call that may use what was kept back of a budget."""


class Order(NamedTuple):
    """What a call is made for."""

    task: Task
    agent: AgentName
    label: str
    size_bytes: int
    """Of the prompt."""


class Paid(NamedTuple):
    reply: Reply
    usage: Usage
    """Of all its tries."""
    settlement: Settlement


class Till:
    """Where the calls to one server are paid."""

    def __init__(
        self, charges: Charges, prices: Prices, estimates: Estimates, server: str = ""
    ) -> None:
        self.estimates = estimates
        self._charges = charges
        self._prices = prices
        self._server = server

    async def ask(self, llm: LLM, call: Call, order: Order) -> Paid:
        if not self._server and not await self._charges.bounded(order.task.root):
            # A model in this process: nothing is under way when it dies.
            reply = await llm.ask(call)
            charge = self._charge(order, reply.model or call.model)
            return Paid(reply, reply.usage, Settlement(new=(charge.settled(reply.usage),)))
        account = _Account(self._charges, self._estimated(order, call), self._cost)
        await account.open()
        call = call._replace(bill=account, estimated_tokens=account.charge.estimated_tokens)
        try:
            reply = await llm.ask(call)
        except BaseException:
            with anyio.move_on_after(LAST_WORDS_SECONDS, shield=True):
                await account.close()
            raise
        if not account.tries and reply.usage != NO_USAGE:
            account.tries.append((reply.model or call.model, reply.usage))
        if account.tries:
            model, usage = account.tries[-1]
            self.estimates.learn(model, order.size_bytes, usage.input_tokens)
        return Paid(reply, account.usage(), account.settlement(reply))

    def _charge(self, order: Order, model: str) -> Charge:
        task = order.task
        return Charge(
            new_id(), task.root, task.id, order.agent, order.label, model, self._charges.process
        )

    def _estimated(self, order: Order, call: Call) -> Charge:
        asked = self.estimates.tokens(call.model, order.size_bytes)
        worst = Usage(input_tokens=asked, output_tokens=call.max_output_tokens)
        usd = self._prices.cost(self._server, call.model, worst)
        return self._charge(order, call.model)._replace(
            estimated_tokens=asked + call.max_output_tokens,
            # A model in this process takes no money.
            estimated_usd=0.0 if usd is None and not self._server else usd,
        )

    def _cost(self, tries: Sequence[tuple[str, Usage]]) -> float | None:
        """Of all of them; one price nobody knows leaves it unknown."""
        costs = [self._prices.cost(self._server, model, usage) for model, usage in tries]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None


class _Account(Bill):
    """The charges of one call, one for each try that reached the server."""

    __slots__ = ("_charges", "_cost", "_earlier", "charge", "is_open")

    def __init__(
        self,
        charges: Charges,
        charge: Charge,
        cost: Callable[[Sequence[tuple[str, Usage]]], float | None],
    ) -> None:
        super().__init__()
        self.charge = charge
        self.is_open = False
        self._charges = charges
        self._cost = cost
        self._earlier = NO_USAGE

    async def open(self) -> None:
        await self._charges.reserve(self.charge, last=self.charge.label == PARTIAL)
        self.is_open = True

    async def renew(self) -> None:
        """Before another try: what the last one cost is settled, the next one has to fit too."""
        self._earlier = self.usage()
        await self.close()
        self.charge = self.charge._replace(id=new_id())
        await self.open()

    async def close(self) -> None:
        if self.is_open:
            self.is_open = False
            await self._charges.settle(self.settlement())
            self.tries, self.unknown = [], 0

    def usage(self) -> Usage:
        return self._earlier + self._counted() if self.tries else self._earlier

    def settlement(self, reply: Reply | None = None) -> Settlement:
        if self.tries:
            model, _ = self.tries[-1]
            done = self.charge.settled(self._counted())._replace(model=model)
            return Settlement(settled=(done,))
        if self.unknown or reply is not None:
            return Settlement(settled=(self.charge._replace(state=ChargeState.UNKNOWN),))
        return Settlement(dropped=(self.charge.id,))

    def _counted(self) -> Usage:
        total = sum((usage for _, usage in self.tries[1:]), self.tries[0][1])
        return total.model_copy(update={"cost_usd": self._cost(self.tries)})


_PROCESS = secrets.token_hex(6)
_count = itertools.count(1)


def new_id() -> str:
    """Unique by the process and its count, so that rows of one process stand together."""
    return f"{_PROCESS}-{next(_count)}"
