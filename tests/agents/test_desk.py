"""A desk: as many looks as there is work, however many agents wait for it."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Coroutine, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core.agents import desk
from core.agents.desk import MOST_AT_ONCE, Desk
from core.agents.job import Job
from core.agents.report import Report
from core.agents.sources import Claims, Letters
from core.domain.agent import Agent, Role
from core.domain.critique import advice
from core.domain.message import Message
from core.domain.reports import Work
from core.domain.task import CANCELLED, COMPLETED, PENDING, AgentName, Complexity, Task
from core.orchestrator import Orchestrator
from core.store.sqlite import SqliteStore
from core.task_board import Claim, TaskBoard
from tests.support.board import AUTO, BOB, EVE, House, agent, open_house

SECONDS = 10.0


class Looks(Claims):
    """Counts for how many agents the board was asked."""

    def __init__(self, house: House, work: Callable[[Claim], Awaitable[str]]) -> None:
        self.asked: list[int] = []
        self.after_a_look: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
        self._house, self._work = house, work
        super().__init__(house.board, _Everybody(self._do), None)

    async def _do(self, claim: Claim) -> Report:
        result = await self._work(claim)
        return lambda: self._house.board.submit(claim, Work(result=result))

    async def find(self, agents: Sequence[Agent], called: Container[AgentName]) -> list[Job]:
        self.asked.append(len(agents))
        jobs = await super().find(agents, called)
        await self.after_a_look()
        return jobs


class _Everybody(dict[AgentName, Callable[[Claim], Awaitable[Report]]]):
    def __init__(self, way: Callable[[Claim], Awaitable[Report]]) -> None:
        self._way = way

    def __getitem__(self, name: AgentName) -> Callable[[Claim], Awaitable[Report]]:
        return self._way


async def at_once(claim: Claim) -> str:
    return f"by {claim.task.agent}"


@asynccontextmanager
async def crew_of(
    house: House, agents: Sequence[Agent], work: Callable[[Claim], Awaitable[str]] = at_once
) -> AsyncIterator[tuple[Orchestrator, Looks]]:
    """At work until the test is over; somebody else holds a task, so that it does not rest."""
    await house.add("somebody else's", complexity=Complexity.SIMPLE)
    await house.claim(BOB)
    crew = Orchestrator(house.board, house.mailbox, AUTO.limits, house.clock)
    looks = Looks(house, work)
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(crew.run, [Desk(agents, looks)])
            await anyio.wait_all_tasks_blocked()
            yield crew, looks
            crew.stop(0)


def executors(count: int) -> list[Agent]:
    return [agent(f"ada-{number}", Role.EXECUTOR) for number in range(count)]


async def until_done(house: House, task: Task) -> Task:
    while (now := await house.task(task)).status is not COMPLETED:
        await anyio.wait_all_tasks_blocked()
    return now


async def test_one_task_costs_one_look_however_many_are_idle(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, crew_of(house, executors(200)) as (_, looks):
        looks.asked.clear()

        await until_done(house, await house.add(complexity=Complexity.SIMPLE))

        assert len(looks.asked) == 1
        assert looks.asked[0] <= MOST_AT_ONCE


async def test_all_that_is_ready_is_begun_before_anything_of_it_ends(tmp_path: Path) -> None:
    count, gate = 2 * MOST_AT_ONCE + 1, anyio.Event()

    async def wait(claim: Claim) -> str:
        await gate.wait()
        return "done"

    async with open_house(tmp_path) as house, crew_of(house, executors(count), wait) as (crew, _):
        tasks = [await house.add(complexity=Complexity.SIMPLE) for _ in range(count)]
        while len(crew.hands) < count:
            await anyio.wait_all_tasks_blocked()
        gate.set()
        done = [await until_done(house, task) for task in tasks]

    assert len({task.executor for task in done}) == count


async def test_who_was_idle_longest_is_next(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, crew_of(house, executors(3)) as _:
        by = []
        for _ in range(4):
            done = await until_done(house, await house.add(complexity=Complexity.SIMPLE))
            by.append(done.executor)

    assert by == ["ada-0", "ada-1", "ada-2", "ada-0"]


@pytest.mark.parametrize("count", [3, MOST_AT_ONCE + 1], ids=["of few", "of many"])
async def test_a_critique_left_from_before_goes_to_its_own_executor(
    tmp_path: Path, count: int
) -> None:
    crew = executors(count)
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit(who=crew[2])
        await house.advise(passed=False)

        async with crew_of(house, crew):
            done = await until_done(house, task)

    assert done.result == "by ada-2"


async def test_what_another_process_adds_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "POLL_SECONDS", 0.05)
    async with open_house(tmp_path) as house, crew_of(house, executors(1)):
        other = await SqliteStore.open(tmp_path / "swarm.db", clock=house.clock)
        try:
            elsewhere = House(other, TaskBoard(other, AUTO), house.mailbox, house.clock)
            added = await elsewhere.add(complexity=Complexity.SIMPLE)
        finally:
            await other.close()

        ear = house.board.listen_for_events()
        while (await house.task(added)).status is not COMPLETED:
            await ear.wait(SECONDS)


async def test_what_another_process_cancels_is_stopped_at_the_next_heartbeat(
    tmp_path: Path,
) -> None:
    cancelled = anyio.Event()

    async def never(claim: Claim) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        raise AssertionError

    async with open_house(tmp_path) as house, crew_of(house, executors(1), never) as (crew, _):
        task = await house.add(complexity=Complexity.SIMPLE)
        while not len(crew.hands):
            await anyio.wait_all_tasks_blocked()
        other = await SqliteStore.open(tmp_path / "swarm.db", clock=house.clock)
        await TaskBoard(other, AUTO).people.cancel(task.id)
        await other.close()
        assert not cancelled.is_set()

        await house.clock.advance(AUTO.limits.heartbeat_seconds)
        await cancelled.wait()

        assert len(crew.hands) == 0
        assert (await house.task(task)).status is CANCELLED


async def test_what_is_found_while_all_stops_is_given_back(tmp_path: Path) -> None:
    async def never(claim: Claim) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    async with open_house(tmp_path) as house:
        async with crew_of(house, executors(1), never) as (crew, looks):

            async def stop() -> None:
                crew.stop(0)
                await anyio.lowlevel.checkpoint()

            looks.after_a_look = stop
            task = await house.add(complexity=Complexity.SIMPLE)
            while not crew.stopping:
                await anyio.wait_all_tasks_blocked()

        left = await house.task(task)
        assert (left.status, left.holder, left.attempts) == (PENDING, None, 0)
        assert left.fence > 0, "it had been claimed"


@pytest.mark.parametrize("locked", [True, False], ids=["the store is locked", "the store is free"])
async def test_a_stop_in_the_middle_of_a_report_does_not_lose_it(
    tmp_path: Path, locked: bool
) -> None:
    gate = anyio.Event()

    async def wait(claim: Claim) -> str:
        await gate.wait()
        return "paid for"

    async with open_house(tmp_path) as house:
        other = sqlite3.connect(tmp_path / "swarm.db", isolation_level=None)
        with closing(other):
            async with crew_of(house, executors(1), wait) as (crew, _):
                task = await house.add(complexity=Complexity.SIMPLE)
                await anyio.wait_all_tasks_blocked()
                if locked:
                    other.execute("BEGIN IMMEDIATE")
                gate.set()
                while len(crew.hands):
                    await anyio.lowlevel.checkpoint()
                crew.stop(0)
                await anyio.wait_all_tasks_blocked()
                if locked:
                    other.execute("ROLLBACK")

        left = await house.task(task)
        assert (left.status, left.result, left.attempts) == (COMPLETED, "paid for", 0)
        submitted = [one for one in await house.told() if one == "task_submitted"]
        assert len(submitted) == 1


async def test_a_stop_in_the_middle_of_an_advice_does_not_tell_it_twice(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        advisor, opinion = Told(house), advice(passed=True, comment="fine")
        letters = Letters(house.board, house.mailbox, {EVE.name: advisor}, None)  # type: ignore[dict-item]
        crew = Orchestrator(house.board, house.mailbox, AUTO.limits, house.clock)
        advisor.report = lambda mail: house.board.add_critique(mail, opinion)
        advisor.meanwhile = lambda: crew.stop(0)

        with anyio.fail_after(SECONDS):
            await crew.run([Desk([EVE], letters)])

        assert (await house.task(task)).status is COMPLETED
        assert [one for one in await house.told() if one.startswith("critique")] == [
            "critique_added"
        ]


class Told:
    """An advisor whose report is in the store's hands when all stops."""

    report: Callable[[Message], Coroutine[Any, Any, object]]
    meanwhile: Callable[[], object]

    def __init__(self, house: House) -> None:
        self._house = house

    async def advise(self, mail: Message, task: Task) -> Report:
        async def told() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(self.report, mail)
                await anyio.lowlevel.checkpoint()
                self.meanwhile()

        return told
