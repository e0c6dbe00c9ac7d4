"""PostgreSQL is restarted under load: no step is lost, none is done twice, every task ends."""

from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import anyio
import anyio.to_thread
import pytest

from tests.faults.children import Child, until
from tests.faults.crew import PROCESSES, Watch, fill, site_in, worker
from tests.faults.test_processes import nothing_was_lost_or_done_twice
from tests.support.postgres_boards import make_board
from tests.support.postgres_server import PostgresServer, running

TASKS_BETWEEN = 20


async def work_through_restarts(path: Path, times: int, *, seconds: float) -> str:
    """Half of the restarts cut sessions off in order, half are crashes."""
    chance = Random(times)
    tasks = TASKS_BETWEEN * (times + 3)
    with running(18, durable=True) as server:
        make_board(server.url("postgres"))
        async with site_in(path, server.url("postgres")) as site:
            await fill(site.store, tasks, chance)
            watch = Watch(site.store)
            async with AsyncExitStack() as stack:
                crew = [
                    await stack.enter_async_context(worker(site, f"p{number}", times))
                    for number in range(PROCESSES)
                ]
                with anyio.fail_after(seconds):
                    await until(lambda: _all_began(path), seconds=30)
                    for number in range(times):
                        await _completed(watch, TASKS_BETWEEN * (number + 1), crew)
                        await _restart(server, crash=number % 2 == 0)
                    ended = [await child.ended(seconds) for child in crew]
            assert ended == [0] * PROCESSES
            await nothing_was_lost_or_done_twice(site, tasks)
    return f"{tasks} tasks, {times} restarts of the server"


async def _all_began(path: Path) -> bool:
    """Whoever opens the board while the server is away is told so, and ends."""
    return len(list(path.glob("*.journal"))) == PROCESSES


async def _completed(watch: Watch, count: int, crew: list[Child]) -> None:
    async def enough() -> bool:
        assert all(child.lives for child in crew), "a worker ended before its time"
        return await watch.completed() >= count

    await until(enough, seconds=60)


async def _restart(server: PostgresServer, *, crash: bool) -> None:
    await anyio.to_thread.run_sync(lambda: server.restart(crash=crash))


async def test_three_restarts_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    print(await work_through_restarts(tmp_path, 3, seconds=90))


@pytest.mark.faults
async def test_a_hundred_restarts_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    print(await work_through_restarts(tmp_path, 100, seconds=1800))
