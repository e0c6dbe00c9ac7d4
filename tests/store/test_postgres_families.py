"""Many writers at once on PostgreSQL: whatever they do together could have been done in turn."""

import re
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random

import anyio
import pytest

from core.domain.agent import Agent, Role
from core.domain.critique import advice
from core.domain.message import MailStatus
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Complexity, Kind, Phase, TaskId, TaskStatus
from core.errors import BadPlan, ClaimLost, IllegalTransition, MailLost, StoreInterrupted
from core.invariants import check
from core.mailbox import Mailbox
from core.store import postgres_queries as queries
from core.store.postgres import PostgresStore
from core.store.protocol import Store, Wanted
from core.task_board import TaskBoard
from tests.support.board import AUTO, agent, some
from tests.support.postgres_boards import behind, board_for
from tests.support.samples import a_child, a_note, a_task, evolved, put, put_on
from tests.support.together import together

PROCESSES, TURNS = 4, 60
LONGEST_SECONDS = 60
REFUSALS = (BadPlan, ClaimLost, IllegalTransition, MailLost)
"""What one of many may be told who came too late; that the store is at fault is not among them."""


class Mixer:
    """One process that does all sorts of things to a few families, as fast as it can."""

    def __init__(self, store: Store, number: int, known: list[TaskId]) -> None:
        self.board = TaskBoard(store, AUTO, process=f"p{number}", chance=Random(number))
        self.mailbox = Mailbox(store, AUTO.limits)
        self.chance = Random(number)
        self.known = known
        roles = frozenset({Role.PLANNER, Role.EXECUTOR})
        self.worker = Agent(name=agent(f"w{number}").name, roles=roles)
        self.advisor = agent(f"a{number}", Role.ADVISOR)

    async def run(self) -> None:
        often = [self.work, self.work, self.work_for_several, self.close_out]
        acts = [*often, self.advise, self.advise_on_several, self.decide, self.add]
        for _ in range(TURNS):
            act: Callable[[], Awaitable[object]] = self.chance.choice(acts)
            with suppress(*REFUSALS):
                await act()

    async def add(self) -> None:
        on = [self.chance.choice(self.known)] if self.known and self.chance.random() < 0.7 else []
        new = NewTask(title="a request", kind=Kind.REQUEST, depends_on=tuple(on))
        self.known.append((await self.board.add(new)).id)

    async def work(self) -> None:
        claim = await self.board.claim_critique(self.worker)
        claim = claim or await self.board.claim_next(self.worker)
        if claim is None:
            return
        await self.board.heartbeat([claim])
        if claim.phase is Phase.PLAN:
            await self.board.decompose(claim, self.a_plan())
        elif self.chance.random() < 0.1:
            await self.board.let_go(claim, "it broke")
        else:
            await self.board.submit(claim, Work(result=self.chance.choice("abc")))

    async def work_for_several(self) -> None:
        """As a desk does it: one transaction for all who are idle."""
        several = [agent(f"{self.worker.name}-{n}", Role.EXECUTOR) for n in range(5)]
        for claim in await self.board.claiming.claim_for(
            several, {one.name for one in several[:2]}
        ):
            await self.board.submit(claim, Work(result=self.chance.choice("abc")))

    async def advise_on_several(self) -> None:
        several = [agent(f"{self.advisor.name}-{n}", Role.ADVISOR) for n in range(5)]
        for letter in await self.mailbox.receive_for(several, set()):
            await self.board.add_critique(letter.mail, advice(passed=True))

    async def close_out(self) -> None:
        claim = await self.board.claim_close_out(self.worker)
        if claim is not None:
            await self.board.close_out(claim, "the answer")

    async def advise(self) -> None:
        mail = await self.mailbox.receive(self.advisor)
        if mail is not None:
            await self.board.add_critique(mail, advice(passed=True))

    async def decide(self) -> None:
        if not self.known:
            return
        family = await self.board.family(self.chance.choice(self.known))
        task = self.chance.choice(family)
        steps = [self.board.people.redo, self.board.people.redo, self.board.people.cancel]
        await self.chance.choice(steps[: 2 if self.chance.random() < 0.9 else 3])(task.id)

    def a_plan(self) -> list[NewTask]:
        levels = [Complexity.SIMPLE, Complexity.NORMAL]
        plan = [
            NewTask(title=f"t{n}", key=f"k{n}", complexity=self.chance.choice(levels))
            for n in range(3)
        ]
        last = NewTask(title="last", depends_on=("k0", "k1"), complexity=Complexity.SIMPLE)
        return [*plan, last]


async def test_many_writers_on_families_that_depend_on_each_other_break_no_promise(
    tmp_path: Path,
) -> None:
    known: list[TaskId] = []
    async with AsyncExitStack() as stack:
        stores = []
        for _ in range(PROCESSES):
            store = await PostgresStore.open(board_for(tmp_path))
            stack.push_async_callback(store.close)
            stores.append(store)
        mixers = [Mixer(store, number, known) for number, store in enumerate(stores * 3)]

        ended = await together(*(one.run for one in mixers), limit_seconds=LONGEST_SECONDS)

        assert ended == [None] * len(mixers)
        assert await check(stores[0], AUTO) == []
        statuses = {task.status for root in known for task in await mixers[0].board.family(root)}
        assert TaskStatus.COMPLETED in statuses


async def test_a_claim_passes_over_what_another_transaction_locks(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    await put_on(store, a_task("first", root_created=1.0), a_task("second", root_created=2.0))
    with behind(tmp_path) as other, other.transaction():
        other.execute("SELECT * FROM tasks WHERE id = 'first' FOR UPDATE")
        began = time.monotonic()

        async with store.transaction() as tx:
            found = some(await tx.next_claimable(Wanted(Phase.WORK)))

        assert found.id == "second"
        assert time.monotonic() - began < 5
    await store.close()


async def test_of_two_steps_on_one_mail_the_later_one_is_broken_off(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    async with store.transaction() as tx:
        sent = await tx.send(a_note())

    with pytest.raises(StoreInterrupted):  # noqa: PT012
        async with store.transaction() as late:
            mail = await late.message(sent.number)
            async with store.transaction() as early:
                taken = evolved(await early.message(sent.number), tries=1, fence=1)
                early.put_message(taken)
            late.put_message(evolved(mail, status=MailStatus.WITHDRAWN, fence=1))

    async with store.read() as reader:
        assert await reader.message(sent.number) == taken
    await store.close()


def buffers_of_a_claim(folder: Path) -> int:
    """How many pages it touches, with a plan made for what is there."""
    question = queries.CLAIM_ANY.replace("%s", "'work'")
    with behind(folder) as other:
        other.execute("VACUUM ANALYZE tasks")
        plan = other.execute(f"EXPLAIN (ANALYZE, BUFFERS) {question}".encode()).fetchall()
    touched = re.search(r"Buffers: shared hit=(\d+)", "\n".join(str(row[0]) for row in plan))
    assert touched is not None, "the plan says what it touched"
    return int(touched[1])


async def test_a_claim_touches_no_more_on_a_board_of_finished_tasks(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    await put_on(store, *(a_task(f"open {number}") for number in range(10)))
    among_few = buffers_of_a_claim(tmp_path)
    done = {"claimable": None, "status": TaskStatus.COMPLETED}
    await put_on(store, *(a_task(f"done {number}", **done) for number in range(2000)))

    assert buffers_of_a_claim(tmp_path) <= among_few
    await store.close()


async def until_somebody_waits(folder: Path) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with anyio.fail_after(10), behind(folder) as other:
        while other.execute(waiting).fetchone() == (0,):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_a_claim_in_a_family_at_work_takes_another_family_or_waits(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    await put_on(store, a_task("a", claimable=None, root_created=1.0))
    await put_on(store, a_child("a1", "a", root_created=1.0), a_child("a2", "a", root_created=1.0))
    await put_on(store, a_task("b", root_created=2.0))
    found: list[TaskId] = []

    async def claim() -> None:
        async with store.transaction() as tx:
            task = some(await tx.next_claimable(Wanted(Phase.WORK)))
            put(tx, task, claimable=None)
        found.append(task.id)

    async with store.transaction() as tx:
        await tx.task(TaskId("a1"))
        async with anyio.create_task_group() as group:
            await together(claim)
            assert found == ["b"]
            group.start_soon(claim)
            await until_somebody_waits(tmp_path)
            assert found == ["b"]
            await tx.session.end()

    assert found == ["b", "a1"]
    await store.close()
