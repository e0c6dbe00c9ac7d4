"""Paying: what a call may cost is reserved before it and settled after it, whatever comes."""

import secrets
from collections.abc import Sequence
from typing import NamedTuple

import anyio

from core.charges import Charges, Settlement
from core.domain.budget import Charge, ChargeState
from core.domain.task import NO_USAGE, AgentName, Task, Usage
from core.llm.client import LLM, Bill, Call, Reply
from core.llm.estimates import Estimates
from core.llm.prices import Prices
from core.process import this_process

LAST_WORDS_SECONDS = 5.0
"""How long the board may take to hear what a call cost when everything stops."""
PARTIAL = "partial"
"""The call that may use what was kept back of a budget."""


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

    async def ask(self, llm: LLM, call: Call, charge: Charge) -> Paid:
        if not self._server:
            # A model in this process: nothing is under way when it dies.
            reply = await llm.ask(call)
            settled = self._settled(charge, [(reply.model or call.model, reply.usage)])
            return Paid(reply, reply.usage, Settlement(new=(settled,)))
        account = _Account(self, self._charges, self._estimated(charge, call))
        await account.open()
        call = call._replace(bill=account, estimated_tokens=account.charge.estimated_tokens)
        try:
            reply = await llm.ask(call)
        except BaseException:
            with anyio.move_on_after(LAST_WORDS_SECONDS, shield=True):
                await account.close()
            raise
        self._learn(call, account)
        return Paid(reply, account.usage(), account.settlement(reply))

    def _estimated(self, charge: Charge, call: Call) -> Charge:
        asked = self.estimates.tokens(call.model, size_of(call))
        worst = Usage(input_tokens=asked, output_tokens=call.max_output_tokens)
        return charge._replace(
            estimated_tokens=asked + call.max_output_tokens,
            estimated_usd=self._prices.cost(self._server, call.model, worst),
        )

    def _settled(self, charge: Charge, tries: Sequence[tuple[str, Usage]]) -> Charge:
        """The charge with what its server counted; one price nobody knows leaves it unknown."""
        total = sum((usage for _, usage in tries), NO_USAGE)
        costs = [self._prices.cost(self._server, model, usage) for model, usage in tries]
        known = [cost for cost in costs if cost is not None]
        return charge._replace(
            model=tries[-1][0],
            state=ChargeState.SETTLED,
            input_tokens=total.input_tokens,
            cached_tokens=total.cached_tokens,
            output_tokens=total.output_tokens,
            cost_usd=sum(known) if len(known) == len(costs) else None,
        )

    def _learn(self, call: Call, bill: Bill) -> None:
        if bill.tries:
            model, usage = bill.tries[-1]
            self.estimates.learn(model, size_of(call), usage.input_tokens)


class _Account(Bill):
    """The charges of one call, one for each try that reached the server."""

    __slots__ = ("_charges", "_earlier", "_till", "charge", "is_open")

    def __init__(self, till: Till, charges: Charges, charge: Charge) -> None:
        super().__init__()
        self.charge = charge
        self.is_open = False
        self._till = till
        self._charges = charges
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
        return self._earlier + self._as_settled()

    def settlement(self, reply: Reply | None = None) -> Settlement:
        if self.tries:
            return Settlement(settled=(self._till._settled(self.charge, self.tries),))
        if self.unknown or reply is not None:
            return Settlement(settled=(self.charge._replace(state=ChargeState.UNKNOWN),))
        return Settlement(dropped=(self.charge.id,))

    def _as_settled(self) -> Usage:
        if not self.tries:
            return NO_USAGE
        done = self._till._settled(self.charge, self.tries)
        return Usage(
            input_tokens=done.input_tokens,
            cached_tokens=done.cached_tokens,
            output_tokens=done.output_tokens,
            cost_usd=done.cost_usd,
        )


def new_charge(task: Task, agent: AgentName, label: str, model: str) -> Charge:
    process = str(this_process())
    return Charge(new_id(), task.root, task.id, agent, label, model, process)


def new_id() -> str:
    return secrets.token_hex(8)


def size_of(call: Call) -> int:
    return sum(len(said.content.encode(errors="replace")) for said in call.messages)
