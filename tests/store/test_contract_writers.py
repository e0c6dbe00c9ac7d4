"""What any store promises to those who use it at once: one picture, no stale row, no task twice."""

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from core.domain.agent import Role
from core.domain.events import Event
from core.domain.message import MailStatus
from core.domain.plan import NewTask
from core.domain.task import Complexity, TaskId
from core.errors import StoreError
from core.invariants import check
from core.mailbox import Mailbox
from core.store.protocol import Store
from core.task_board import Claim, TaskBoard
from tests.store.stores import Backend
from tests.support.board import AUTO, EVE, agent
from tests.support.clock import VirtualClock
from tests.support.samples import (
    a_note,
    a_task,
    an_event,
    change,
    evolved,
    has,
    put,
    put_on,
    seen,
    told,
)
from tests.support.together import together


async def test_a_reader_sees_nothing_of_an_open_step(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await put_on(store, a_task("t", title="old"))

        async with store.transaction() as tx:
            put(tx, await tx.task(TaskId("t")), title="new")
            tx.add_task(a_task("born"))
            tx.tell(*an_event())
            assert len(await tx.all_tasks()) == 2

            while_open = [
                (await has(reader, "born"), (await seen(reader, "t")).title, await told(reader))
                for reader in (store, other)
            ]
        afterwards = [
            (await has(reader, "born"), (await seen(reader, "t")).title, len(await told(reader)))
            for reader in (store, other)
        ]

        assert while_open == [(False, "old", [])] * 2
        assert afterwards == [(True, "new", 1)] * 2


async def test_a_picture_stays_as_it_is_while_others_write(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await put_on(store, a_task("t", title="old"))

        async with store.read() as reader:
            first = await reader.all_tasks()
            await change(store, "t", title="new")
            await put_on(other, a_task("born"))
            second = await reader.all_tasks()
            again = await reader.task(TaskId("t"))
        async with store.read() as reader:
            after = [task.title for task in await reader.all_tasks()]

        assert first == second == [again]
        assert after == ["new", "born"]


async def test_a_new_picture_is_new_though_an_older_one_is_still_looked_at(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("t", title="old"))

        async with store.read() as older:
            await older.all_tasks()
            await change(store, "t", title="new")
            async with store.read() as newer:
                titles = [(await one.task(TaskId("t"))).title for one in (older, newer)]

        assert titles == ["old", "new"]


async def test_each_writer_sees_what_the_other_committed(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        await put_on(one, a_task("t", title=""))

        for turn, store in enumerate((one, two, one, one, two, two, one)):
            async with store.transaction() as tx:
                task = await tx.task(TaskId("t"))
                put(tx, task, title=f"{task.title}{turn}")

        for store in (one, two):
            async with store.transaction() as tx:
                assert (await tx.task(TaskId("t"))).title == "0123456"
            assert (await seen(store, "t")).version == 8


async def test_a_mail_changed_elsewhere_is_seen_as_it_is_now(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        async with one.transaction() as tx:
            sent = await tx.send(a_note())
        async with one.transaction() as tx:
            await tx.message(sent.number)

        async with two.transaction() as tx:
            tx.put_message(evolved(await tx.message(sent.number), status=MailStatus.DEAD))

        async with one.transaction() as tx:
            assert (await tx.message(sent.number)).status is MailStatus.DEAD
            assert await tx.next_message(EVE.name, EVE.roles) is None


@pytest.mark.parametrize("writer", ["the same store", "another store"])
async def test_a_task_put_with_an_outdated_version_is_refused(
    backend: Backend, tmp_path: Path, writer: str
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await put_on(store, a_task("t"))
        outdated = await seen(store, "t")
        await change(store if writer == "the same store" else other, "t", title="theirs")

        with pytest.raises(StoreError):
            async with store.transaction() as tx:
                put(tx, outdated, message="mine")

        kept = await seen(other, "t")
        assert (kept.title, kept.message, kept.version) == ("theirs", "", 2)
        assert (await change(store, "t", title="goes on")).version == 3


async def test_two_stores_adding_to_one_task_lose_nothing(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()

    def adding(store: Store) -> Callable[[], Awaitable[None]]:
        async def add() -> None:
            for _ in range(10):
                async with store.transaction() as tx:
                    task = await tx.task(TaskId("t"))
                    put(tx, task, attempts=task.attempts + 1)

        return add

    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        await put_on(one, a_task("t"))

        ended = await together(*(adding(store) for store in (one, two) * 3))

        assert ended == [None] * 6
        assert (await seen(one, "t")).attempts == (await seen(two, "t")).attempts == 60


async def test_two_stores_never_hand_out_the_same_task(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    claims: list[Claim] = []

    def claiming(board: TaskBoard, name: str) -> Callable[[], Awaitable[None]]:
        async def claim() -> None:
            claimed = await board.claim_next(agent(name, Role.EXECUTOR))
            claims.extend([] if claimed is None else [claimed])

        return claim

    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        boards = [TaskBoard(store, AUTO, process=f"p{n}") for n, store in enumerate((one, two))]
        for number in range(20):
            new = NewTask(title=f"task {number}", complexity=Complexity.SIMPLE)
            await boards[0].add(new)

        for _ in range(4):
            ended = await together(*(claiming(boards[n % 2], f"agent {n}") for n in range(6)))
            assert ended == [None] * 6

        assert sorted(Counter(claim.task_id for claim in claims).values()) == [1] * 20
        assert {claim.task.holder for claim in claims} == {"p0", "p1"}
        assert await check(two, AUTO) == []


async def test_two_stores_never_hand_out_the_same_mail(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    taken: list[int] = []

    def receiving(mailbox: Mailbox) -> Callable[[], Awaitable[None]]:
        async def receive() -> None:
            while (mail := await mailbox.receive(EVE)) is not None:
                taken.append(mail.number)

        return receive

    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        boxes = [Mailbox(store) for store in (one, two)]
        sent = [(await boxes[0].send(a_note())).number for _ in range(30)]

        ended = await together(*(receiving(box) for box in boxes * 2))

        assert ended == [None] * 4
        assert sorted(taken) == sent


async def test_a_cursor_misses_no_event_while_two_stores_write(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    followed: list[Event] = []

    def telling(store: Store, name: str) -> Callable[[], Awaitable[None]]:
        async def tell() -> None:
            for number in range(30):
                async with store.transaction() as tx:
                    tx.tell(*an_event(f"{name}{number}"))
                    tx.tell(*an_event(f"{name}{number}"))
                await anyio.lowlevel.checkpoint()

        return tell

    async with (
        backend.open(tmp_path, clock) as one,
        backend.open(tmp_path, clock) as two,
        backend.open(tmp_path, clock) as watcher,
    ):

        async def follow() -> None:
            while len(followed) < 120:
                async with watcher.read() as reader:
                    followed.extend(await reader.events(followed[-1].seq if followed else 0, 7))
                await anyio.lowlevel.checkpoint()

        ended = await together(telling(one, "a"), telling(two, "b"), follow)

        async with watcher.read() as reader:
            kept = await reader.events(0, 1000)
        assert ended == [None] * 3
        assert followed == kept
        assert [event.seq for event in kept] == sorted({event.seq for event in kept})


async def test_events_are_read_in_pages(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            for _ in range(5):
                tx.tell(*an_event())
        numbers = await told(store)

        async with store.read() as reader:
            first = [event.seq for event in await reader.events(0, 2)]
            second = [event.seq for event in await reader.events(first[-1], 2)]
            third = [event.seq for event in await reader.events(second[-1], 2)]
            none = await reader.events(third[-1], 2)

        assert [*first, *second, *third] == numbers
        assert ([len(first), len(second), len(third)], none) == ([2, 2, 1], [])
