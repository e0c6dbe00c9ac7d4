"""A process that does on a shared board what the test tells it, one line at a time.

Run as `python -m tests.faults.puppet ADDRESS`; it says `ready`, then answers each line with one.
"""

import sys
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from core.domain.critique import advice
from core.domain.events import DecomposedFact, Event
from core.domain.message import Message
from core.domain.reports import Work
from core.domain.task import Task
from core.errors import SwarmError
from core.invariants import check
from core.mailbox import Mailbox
from core.store import open_store
from core.store.protocol import Store, Transaction
from core.task_board import Claim, TaskBoard
from tests.support.board import ADA, AUTO, EVE, some


class Puppet:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._board = TaskBoard(store, AUTO)
        self._mailbox = Mailbox(store, AUTO.limits)
        self._claim: Claim | None = None
        self._mail: Message | None = None
        self._seen = 0
        self._told: list[Event] = []

    async def do(self, order: str) -> str:
        orders: dict[str, Callable[[], Awaitable[str]]] = {
            "claim": self._take_a_task,
            "take": self._take_a_mail,
            "beat": self._beat,
            "submit": self._submit,
            "advise": self._advise,
            "look": self._look,
            "freeze": self._freeze,
        }
        try:
            return await orders[order]()
        except SwarmError as error:
            return type(error).__name__

    async def _take_a_task(self) -> str:
        self._claim = some(await self._board.claim_next(ADA))
        return self._claim.task_id

    async def _take_a_mail(self) -> str:
        self._mail = some(await self._mailbox.receive(EVE))
        return str(self._mail.number)

    async def _beat(self) -> str:
        return "lost" if await self._board.heartbeat([some(self._claim)]) else "kept"

    async def _submit(self) -> str:
        return (await self._board.submit(some(self._claim), Work(result="mine"))).status

    async def _advise(self) -> str:
        advised = advice(passed=False, suggestions=("do it again",))
        return (await self._board.add_critique(some(self._mail), advised)).status

    async def _look(self) -> str:
        """Whether one picture of the store, and the events since the last, fit together."""
        problems = [str(violation) for violation in await check(self._store, AUTO)]
        news = await self._board.events(self._seen, limit=100_000)
        self._told += news
        self._seen = news[-1].seq if news else self._seen
        if self._told != await self._board.events(0, limit=len(self._told)):
            problems.append(f"events came late, below {self._seen}")
        problems += [problem for event in news for problem in await self._half_planned(event)]
        return f"{len(self._told)} {problems or 'whole'}"

    async def _half_planned(self, event: Event) -> list[str]:
        if not isinstance(event.data, DecomposedFact):
            return []
        async with self._store.read() as reader:
            there = [await reader.has_task(child) for child in event.data.children]
        return [] if all(there) and there else [f"{event.task} has half a plan"]

    async def _freeze(self) -> str:
        """Claim a task and stand still in the middle of that step, with the lock of the store."""
        board = TaskBoard(self._store, AUTO, listeners=(_stand_still,))
        return some(await board.claim_next(ADA)).task_id


async def _stand_still(tx: Transaction, _before: Task | None, _after: Task) -> None:
    await tx.all_tasks()  # a query makes the step write what it has so far
    print("frozen", flush=True)
    sys.stdin.readline()


async def main(address: str) -> None:
    store = await open_store(address)
    try:
        puppet = Puppet(store)
        print("ready", flush=True)
        for line in sys.stdin:
            print(await puppet.do(line.strip()), flush=True)
    finally:
        await store.close()


if __name__ == "__main__":
    anyio.run(partial(main, sys.argv[1]))
