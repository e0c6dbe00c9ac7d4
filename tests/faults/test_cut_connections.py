"""Connections to PostgreSQL are cut around a COMMIT: no step is lost, and none is done twice."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import anyio
import pytest

from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Complexity, TaskId
from core.errors import StoreInterrupted
from core.invariants import check
from core.store.postgres import PostgresStore
from core.task_board import TaskBoard
from tests.faults.crew import PROCESSES, fill, site_in, worker
from tests.faults.test_processes import nothing_was_lost_or_done_twice
from tests.support.board import ADA, AUTO, some
from tests.support.cutting_proxy import Cut, CuttingProxy
from tests.support.postgres_boards import board_for, database_for, server
from tests.support.samples import a_task


@pytest.mark.parametrize("cut", Cut)
async def test_a_step_whose_connection_is_cut_at_its_commit_is_done_once(
    tmp_path: Path, cut: Cut
) -> None:
    board_for(tmp_path)
    cuts = iter([None, cut, None, cut, None, cut])
    proxy = CuttingProxy(server(18), lambda: next(cuts, None))
    async with proxy.running():
        store = await PostgresStore.open(proxy.url(database_for(tmp_path)))
        board = TaskBoard(store, AUTO)
        task = await board.add(NewTask(title="once", complexity=Complexity.SIMPLE))
        claim = some(await board.claim_next(ADA))
        await board.submit(claim, Work(result="done"))

        told = [event.type.value for event in await board.events(0)]
        async with store.read() as reader:
            tasks = await reader.all_tasks()

        assert await check(store, AUTO) == []
        await store.close()
    assert told == ["task_added", "task_claimed", "task_submitted", "task_settled"]
    assert [(one.id, one.result, one.attempts) for one in tasks] == [(task.id, "done", 0)]
    assert proxy.cuts == [cut] * len(proxy.cuts)
    assert len(proxy.cuts) >= 2


@pytest.mark.parametrize("cut", Cut)
async def test_a_step_knows_what_became_of_its_commit(tmp_path: Path, cut: Cut) -> None:
    board_for(tmp_path)
    proxy = CuttingProxy(server(18), lambda: None)
    async with proxy.running():
        store = await PostgresStore.open(proxy.url(database_for(tmp_path)))
        cuts = iter([cut])
        proxy.decide = lambda: next(cuts, None)
        try:
            async with store.transaction() as tx:
                tx.add_task(a_task("t"))
            kept = True
        except StoreInterrupted:
            kept = False
        async with store.read() as reader:
            is_there = await reader.has_task(TaskId("t"))
        await store.close()

    assert kept is is_there
    assert proxy.cuts == [cut]
    assert kept is {Cut.BEFORE: False, Cut.AFTER: True}.get(cut, is_there)


def now_and_then(chance: Random, often: float, most: int) -> Iterator[Cut | None]:
    left = most
    while True:
        cuts = left > 0 and chance.random() < often
        left -= cuts
        yield chance.choice(list(Cut)) if cuts else None


async def work_through_cuts(path: Path, *, tasks: int, cuts: int, seconds: float) -> str:
    chance = Random(cuts)
    moments = now_and_then(chance, often=cuts / (tasks * 4), most=cuts)
    proxy = CuttingProxy(server(18), lambda: next(moments))
    async with proxy.running(), site_in(path, board_for(path)) as site:
        await fill(site.store, tasks, chance)
        address = proxy.url(database_for(path))
        with anyio.fail_after(seconds):
            async with AsyncExitStack() as stack, site_in(path, address) as cut_off:
                crew = [
                    await stack.enter_async_context(worker(cut_off, f"p{number}", cuts))
                    for number in range(PROCESSES)
                ]
                ended = [await child.ended(seconds) for child in crew]
        assert ended == [0] * PROCESSES
        await nothing_was_lost_or_done_twice(site, tasks)
    assert len(proxy.cuts) == cuts
    return f"{tasks} tasks, {len(proxy.cuts)} cuts: " + ", ".join(
        f"{proxy.cuts.count(cut)} {cut}" for cut in Cut
    )


async def test_twenty_cuts_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    print(await work_through_cuts(tmp_path, tasks=100, cuts=20, seconds=60))


@pytest.mark.faults
async def test_a_thousand_cuts_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    print(await work_through_cuts(tmp_path, tasks=2000, cuts=1000, seconds=900))
