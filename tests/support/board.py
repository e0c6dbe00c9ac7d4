"""A board on a real store, with a clock the test owns and a small crew."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from core.consequences import Listener
from core.domain.agent import Agent, Crew, Role
from core.domain.critique import advice
from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.message import Message
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.rules import Rules
from core.domain.task import AgentName, Complexity, Kind, Task, TaskId
from core.invariants import check
from core.mailbox import Mailbox
from core.store.protocol import Store
from core.task_board import Claim, TaskBoard
from tests.support.clock import VirtualClock
from tests.support.engines import open_board


def agent(name: str, *roles: Role) -> Agent:
    return Agent(name=AgentName(name), roles=frozenset(roles))


_T = TypeVar("_T")

PAT = agent("pat", Role.PLANNER)
ADA = agent("ada", Role.EXECUTOR)
BOB = agent("bob", Role.EXECUTOR)
EVE = agent("eve", Role.ADVISOR)
MERGER = agent("merger")

CREW = Crew(agents=(PAT, ADA, BOB, EVE), idle=frozenset({ADA.name, BOB.name}))
AUTO = Rules(review=ReviewRules(default_mode=ReviewMode.AUTO))
"""Finished text goes on without a person."""
BATCH = Rules()


@dataclass
class House:
    """Everything a story needs."""

    store: Store
    board: TaskBoard
    mailbox: Mailbox
    clock: VirtualClock

    async def add(self, title: str = "write it", **fields: object) -> Task:
        """A single root task, of normal complexity unless said otherwise."""
        values = {"complexity": Complexity.NORMAL, **fields}
        return await self.board.add(NewTask.model_validate({"title": title, **values}))

    async def planned(self, *plan: NewTask) -> tuple[Task, list[Task]]:
        """A request that was decomposed into this plan."""
        await self.board.add(NewTask(title="a request", kind=Kind.REQUEST))
        claim = some(await self.board.claim_next(PAT))
        children = await self.board.decompose(claim, plan)
        return await self.board.get(claim.task_id), children

    async def claim(self, who: Agent = ADA) -> Claim:
        return some(await self.board.claim_next(who))

    async def submit(self, result: str = "done", who: Agent = ADA) -> Task:
        """Claim the next piece of work and hand in a result."""
        return await self.board.submit(await self.claim(who), Work(result=result))

    async def fix(self, result: str = "fixed", who: Agent = ADA) -> Task:
        claim = some(await self.board.claim_critique(who))
        return await self.board.submit(claim, Work(result=result))

    async def mail(self, who: Agent = EVE) -> Message:
        return some(await self.mailbox.receive(who))

    async def advise(self, *, passed: bool, who: Agent = EVE) -> Task:
        """Take the next request for a critique and answer it."""
        suggestions = () if passed else ("name the source",)
        mail = await self.mail(who)
        return await self.board.add_critique(
            mail, advice(passed=passed, suggestions=suggestions, comment="seen")
        )

    async def close_out(self, answer: str = "the answer") -> Task:
        claim = some(await self.board.claim_close_out(PAT))
        return await self.board.close_out(claim, answer)

    async def task(self, task: Task | TaskId) -> Task:
        return await self.board.get(task.id if isinstance(task, Task) else task)

    async def told(self) -> list[str]:
        """The types of all events so far."""
        return [event.type.value for event in await self.board.events(0)]


def some(value: _T | None) -> _T:
    """The value, where a test knows there is one."""
    assert value is not None, "nothing was there"
    return value


@asynccontextmanager
async def open_house(
    path: Path,
    rules: Rules = AUTO,
    *,
    listeners: tuple[Listener, ...] = (),
    clock: VirtualClock | None = None,
) -> AsyncIterator[House]:
    """A house whose store is checked for broken promises when the test is over."""
    clock = clock or VirtualClock()
    store = await open_board(path, clock)
    try:
        board = TaskBoard(store, rules, listeners=listeners, chance=Random(0))
        yield House(store, board, Mailbox(store, rules.limits), clock)
        violations = await check(store, rules)
        assert violations == [], "\n".join(str(violation) for violation in violations)
    finally:
        await store.close()
