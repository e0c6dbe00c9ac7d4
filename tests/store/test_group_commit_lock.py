"""The write lock of a batch: waiting strands nobody, and what is read under it stays true."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from core.domain.task import TaskId
from core.errors import StoreBusy
from core.store.protocol import Store
from core.store.sqlite import SqliteStore
from tests.store.behind import another_connection, locked, titles_in
from tests.store.stores import STORES
from tests.support.clock import VirtualClock
from tests.support.samples import (
    Refused,
    a_note,
    a_task,
    adding,
    an_event,
    has,
    put_on,
    told,
)
from tests.support.together import together

open_store = STORES["sqlite"].open


def refusing(store: Store) -> Callable[[], Awaitable[None]]:
    async def refuse() -> None:
        async with store.transaction() as tx:
            tx.add_task(a_task("refused"))
            raise Refused

    return refuse


async def test_an_opener_that_fails_after_waiting_for_the_lock_strands_nobody(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        with locked(tmp_path) as other:

            async def unlock() -> None:
                await anyio.wait_all_tasks_blocked()
                other.execute("ROLLBACK")

            ended = await together(refusing(store), adding(store, "a"), adding(store, "b"), unlock)

            assert isinstance(ended[0], Refused)
            assert ended[1:] == [None, None, None]
            assert titles_in(other) == ["a", "b"]


async def test_an_opener_cancelled_while_it_waits_for_the_lock_strands_nobody(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        scope = anyio.CancelScope()

        async def open_first() -> bool:
            with scope:
                await adding(store, "opener")()
            return scope.cancelled_caught

        with locked(tmp_path) as other:

            async def cancel_then_unlock() -> None:
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
                await anyio.wait_all_tasks_blocked()
                other.execute("ROLLBACK")

            ended = await together(
                open_first, adding(store, "a"), adding(store, "b"), cancel_then_unlock
            )

            assert ended == [True, None, None, None]
            assert titles_in(other) == ["a", "b"]


async def test_those_who_wait_together_for_a_lock_give_up_together(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "swarm.db", lock_seconds=0.2)
    try:
        with locked(tmp_path):
            ended = await together(*(adding(store, f"t{n}") for n in range(20)), limit_seconds=1.0)

        assert [type(one) for one in ended] == [StoreBusy] * 20
    finally:
        await store.close()


async def test_nobody_else_writes_while_a_step_is_open(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("t"))

        with another_connection(tmp_path) as other:
            async with store.transaction() as tx:
                await tx.task(TaskId("t"))

                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    other.execute("BEGIN IMMEDIATE")

            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")


async def test_what_another_program_wrote_is_seen_at_once(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            tx.add_task(a_task("t", title="old"))
            sent = await tx.send(a_note("old"))
        async with store.transaction() as tx:
            await tx.task(TaskId("t"))
            await tx.message(sent.number)

        with another_connection(tmp_path) as other:
            other.execute("UPDATE tasks SET title = 'new'")
            other.execute("UPDATE mail SET body = 'new'")

        async with store.transaction() as tx:
            assert (await tx.task(TaskId("t"))).title == "new"
            assert (await tx.message(sent.number)).body == "new"


async def test_numbers_go_on_after_those_another_store_gave(tmp_path: Path) -> None:
    clock = VirtualClock()
    numbers = []
    async with open_store(tmp_path, clock) as one, open_store(tmp_path, clock) as two:
        for store in (one, two, two, one, two):
            async with store.transaction() as tx:
                numbers.append((await tx.send(a_note())).number)
                tx.tell(*an_event())

        assert numbers == [1, 2, 3, 4, 5]
        assert await told(one) == [1, 2, 3, 4, 5]


async def test_a_second_transaction_inside_a_step_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:

        async def nest() -> None:
            async with store.transaction() as tx:
                tx.add_task(a_task("outer"))
                await adding(store, "inner")()

        nested, neighbour = await together(nest, adding(store, "neighbour"))

        assert isinstance(nested, RuntimeError)
        assert neighbour is None
        assert [await has(store, one) for one in ("outer", "inner", "neighbour")] == [
            False,
            False,
            True,
        ]


async def test_a_step_that_waits_inside_its_transaction_is_refused_loudly(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:

        async def wait_inside() -> None:
            async with store.transaction() as tx:
                tx.add_task(a_task("waits"))
                await anyio.lowlevel.checkpoint()

        ended = await together(wait_inside, adding(store, "neighbour"))
        (next_one,) = await together(adding(store, "next"))

        assert any(isinstance(one, RuntimeError) for one in ended)
        assert next_one is None


async def test_a_step_that_waits_inside_is_refused_also_after_waiting_for_the_lock(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        with locked(tmp_path) as other:

            async def wait_inside() -> None:
                async with store.transaction() as tx:
                    tx.add_task(a_task("waits"))
                    await anyio.lowlevel.checkpoint()

            async def unlock() -> None:
                await anyio.wait_all_tasks_blocked()
                other.execute("ROLLBACK")

            ended = await together(wait_inside, adding(store, "neighbour"), unlock)

        assert any(isinstance(one, RuntimeError) for one in ended)
