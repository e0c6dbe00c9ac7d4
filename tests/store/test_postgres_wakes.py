"""Processes on PostgreSQL wake each other when work appears; without that they look themselves."""

from pathlib import Path

import anyio
import pytest

from core.domain.agent import Role
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Complexity
from core.store.postgres import PostgresStore
from core.task_board import TaskBoard
from tests.support.board import ADA, AUTO, agent, some
from tests.support.postgres_boards import behind, board_for

BOB = agent("bob", Role.EXECUTOR)
LISTENERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' "
    "AND datname = current_database()"
)


async def until_somebody_listens(folder: Path) -> None:
    with anyio.fail_after(10), behind(folder) as other:
        while other.execute(LISTENERS).fetchone() == (0,):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_work_that_another_process_adds_wakes_who_waits(tmp_path: Path) -> None:
    here = await PostgresStore.open(board_for(tmp_path))
    elsewhere = await PostgresStore.open(board_for(tmp_path))
    ear = TaskBoard(here, AUTO).listen(ADA)
    async with here.hearing():
        await until_somebody_listens(tmp_path)

        await TaskBoard(elsewhere, AUTO).add(NewTask(title="t", complexity=Complexity.SIMPLE))

        with anyio.fail_after(10):
            assert await ear.wait(poll_seconds=3600)
    await here.close()
    await elsewhere.close()


async def test_who_was_cut_off_hears_again(tmp_path: Path) -> None:
    here = await PostgresStore.open(board_for(tmp_path))
    elsewhere = TaskBoard(await PostgresStore.open(board_for(tmp_path)), AUTO)
    ear = TaskBoard(here, AUTO).listen(ADA)
    async with here.hearing():
        await until_somebody_listens(tmp_path)
        with behind(tmp_path) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            )
            with anyio.fail_after(10):
                while other.execute(LISTENERS).fetchone() != (0,):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
        await until_somebody_listens(tmp_path)

        await elsewhere.add(NewTask(title="t", complexity=Complexity.SIMPLE))

        with anyio.fail_after(10):
            assert await ear.wait(poll_seconds=3600)
    await here.close()
    await elsewhere._store.close()


@pytest.mark.parametrize("words", ["", "&notify=off"], ids=["direct", "behind a pooler"])
async def test_two_processes_share_the_work_with_and_without_wake_ups(
    tmp_path: Path, words: str
) -> None:
    stores = [await PostgresStore.open(board_for(tmp_path) + words) for _ in range(2)]
    boards = [TaskBoard(store, AUTO) for store in stores]
    for number in range(6):
        await boards[0].add(NewTask(title=f"t{number}", complexity=Complexity.SIMPLE))

    done = []
    for turn in range(6):
        claim = some(await boards[turn % 2].claim_next((ADA, BOB)[turn % 2]))
        done.append((await boards[turn % 2].submit(claim, Work(result="done"))).id)

    assert len(set(done)) == 6
    assert await boards[0].claim_next(ADA) is None
    for store in stores:
        await store.close()


async def test_behind_a_pooler_nothing_is_left_in_a_session(tmp_path: Path) -> None:
    """The next transaction of another client may get the same session."""
    store = await PostgresStore.open(f"{board_for(tmp_path)}&notify=off")
    await TaskBoard(store, AUTO).add(NewTask(title="t", complexity=Complexity.SIMPLE))
    await TaskBoard(store, AUTO).add(NewTask(title="t", complexity=Complexity.SIMPLE))
    session = await store.sessions.take()
    left = await session.line.connection.execute(
        "SELECT (SELECT count(*) FROM pg_prepared_statements), current_setting('lock_timeout')"
    )
    async with store.transaction() as tx:
        await tx.all_tasks()
        inside = await tx.session.line.connection.execute(
            "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'), "
            "current_setting('idle_in_transaction_session_timeout')"
        )

        assert await inside.fetchone() == ("15s", "30s", "10s")
    assert await left.fetchone() == (0, "0")
    await store.sessions.give(session)
    await store.close()


async def test_every_session_has_its_limits(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    async with store.transaction() as tx:
        await tx.all_tasks()
        limits = await tx.session.line.connection.execute(
            "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'), "
            "current_setting('idle_in_transaction_session_timeout')"
        )

        assert await limits.fetchone() == ("15s", "30s", "10s")
    await store.close()
