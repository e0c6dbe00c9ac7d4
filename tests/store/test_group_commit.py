"""Group commit: steps of one SQLite store share a commit, and each keeps what it promised."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from core.domain.message import MailStatus
from core.domain.plan import NewTask
from core.domain.task import TaskId
from core.errors import MailNotFound, StoreError, StoreFailed
from core.invariants import check
from core.store.protocol import Store
from core.store.sqlite import SqliteStore
from core.task_board import TaskBoard
from tests.store.behind import another_connection, counted_commits, titles_in
from tests.store.stores import STORES, writer_of
from tests.support.clock import VirtualClock
from tests.support.samples import (
    Refused,
    a_note,
    a_task,
    adding,
    an_event,
    change,
    evolved,
    put,
    put_on,
    seen,
    told,
)
from tests.support.together import together

open_store = STORES["sqlite"].open
failing_commits = STORES["sqlite"].failing_commits


def refusing(store: Store) -> Callable[[], Awaitable[None]]:
    async def refuse() -> None:
        async with store.transaction() as tx:
            tx.add_task(a_task("refused"))
            raise Refused

    return refuse


async def test_a_caller_goes_on_only_after_its_step_is_on_disk(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        with another_connection(tmp_path) as other, counted_commits(store) as commits:

            async def add_and_look(task_id: str) -> bool:
                await adding(store, task_id)()
                return task_id in titles_in(other)

            names = [f"t{n}" for n in range(10)]
            ended = await together(*(lambda n=name: add_and_look(n) for name in names))

            assert ended == [True] * 10
            assert len(commits) == 1


async def test_nothing_of_a_batch_is_on_disk_before_its_commit(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        with another_connection(tmp_path) as other:
            found: list[list[str]] = []

            async def look() -> None:
                async with store.transaction() as tx:
                    assert await tx.has_task(TaskId("t"))
                    found.append(titles_in(other))
                    tx.tell(*an_event())

            ended = await together(adding(store, "t"), look)

            assert (ended, found, titles_in(other)) == ([None, None], [[]], ["t"])


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "in the middle", "last"])
async def test_a_step_that_fails_leaves_those_who_share_its_commit_alone(
    tmp_path: Path, place: int
) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        steps = [adding(store, "left"), adding(store, "right")]
        steps.insert(place, refusing(store))

        with another_connection(tmp_path) as other:
            ended = await together(*steps)

            assert isinstance(ended.pop(place), Refused)
            assert ended == [None, None]
            assert titles_in(other) == ["left", "right"]


async def test_an_opener_cancelled_after_its_step_strands_nobody(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:

        async def open_first() -> bool:
            with anyio.CancelScope() as scope:
                async with store.transaction() as tx:
                    tx.add_task(a_task("opener"))
                    scope.cancel()
            return scope.cancelled_caught

        with another_connection(tmp_path) as other:
            ended = await together(open_first, adding(store, "a"), adding(store, "b"))

            assert ended == [True, None, None]
            assert set(titles_in(other)) >= {"a", "b"}
        await change(store, "a", title="goes on")
        assert (await seen(store, "a")).title == "goes on"


async def test_a_commit_that_fails_fails_its_steps_and_clears_the_cache(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("t", title="old"))

        async def write() -> None:
            await change(store, "t", title="new")

        with failing_commits(store), counted_commits(store) as commits:
            ended = await together(write, adding(store, "a"), write)

        assert [isinstance(one, StoreError) for one in ended] == [True] * 3
        assert len(commits) == 1
        async with store.transaction() as tx:
            assert (await tx.task(TaskId("t"))).title == "old"
            assert not await tx.has_task(TaskId("a"))


async def test_a_store_closed_under_its_steps_strands_nobody(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "swarm.db")

    ended = await together(adding(store, "a"), adding(store, "b"), store.close, limit_seconds=1)

    assert all(isinstance(one, Exception) for one in ended[:2])
    with another_connection(tmp_path) as other:
        assert titles_in(other) == []


async def test_two_steps_on_one_task_are_written_in_the_order_they_came(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("t", title=""))

        def writing(letter: str) -> Callable[[], Awaitable[None]]:
            async def write() -> None:
                async with store.transaction() as tx:
                    task = await tx.task(TaskId("t"))
                    # Each changes other columns: updates must not be grouped by their text.
                    more = {"message": letter} if letter in "bd" else {}
                    put(tx, task, title=task.title + letter, **more)
                    tx.tell(*an_event(letter, "t"))

            return write

        with counted_commits(store) as commits:
            ended = await together(*(writing(letter) for letter in "abcde"))

        kept = await seen(store, "t")
        async with store.read() as reader:
            texts = [event.data.model_dump()["text"] for event in await reader.events(0, 10)]
        assert (ended, len(commits)) == ([None] * 5, 1)
        assert (kept.title, kept.message, kept.version) == ("abcde", "d", 6)
        assert texts == list("abcde")


async def test_a_task_added_and_changed_by_two_steps_of_one_commit_is_kept(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:

        async def write() -> None:
            await change(store, "t", title="changed")

        with counted_commits(store) as commits:
            ended = await together(adding(store, "t"), write)

        assert (ended, len(commits)) == ([None, None], 1)
        assert (await seen(store, "t")).title == "changed"


async def test_the_step_of_a_cancelled_caller_may_be_kept_and_the_board_stays_whole(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        board = TaskBoard(store)
        scope = anyio.CancelScope()

        async def add_cancelled() -> bool:
            with scope:
                await board.add(NewTask(title="cancelled"))
            return scope.cancelled_caught

        async def cancel() -> None:
            scope.cancel()

        async def add(title: str) -> None:
            await board.add(NewTask(title=title))

        ended = await together(lambda: add("one"), add_cancelled, cancel, lambda: add("two"))

        async with store.read() as reader:
            kept = [task.title for task in await reader.all_tasks()]
        assert ended == [None, True, None, None]
        assert [title for title in kept if title != "cancelled"] == ["one", "two"]
        assert await told(store) == list(range(1, len(kept) + 1))
        assert await check(store) == []
        assert await board.find((await board.add(NewTask(title="next"))).id)


async def test_steps_that_are_ready_together_share_one_commit(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        board = TaskBoard(store)

        async def add() -> None:
            await board.add(NewTask(title="one of many"))

        with counted_commits(store) as commits:
            ended = await together(*[add] * 50)

        assert ended == [None] * 50
        assert len(commits) <= 3
        assert await told(store) == list(range(1, 51))
        assert await check(store) == []


async def test_a_step_that_only_looks_commits_nothing(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("t"))

        with counted_commits(store) as commits:
            async with store.transaction() as tx:
                assert await tx.has_task(TaskId("t"))

        assert commits == []


@pytest.mark.parametrize("table", ["tasks", "mail"])
async def test_a_row_changed_behind_the_back_of_a_step_fails_it(tmp_path: Path, table: str) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            tx.add_task(a_task("t"))
            number = (await tx.send(a_note())).number

        async def write() -> None:
            async with store.transaction() as tx:
                put(tx, await tx.task(TaskId("t")), title="new")
                tx.put_message(evolved(await tx.message(number), status=MailStatus.DEAD))
                column = "version" if table == "tasks" else "fence"
                writer_of(store).execute(f"UPDATE {table} SET {column} = 9")

        with pytest.raises(StoreFailed):
            await write()

        async with store.transaction() as tx:
            assert (await tx.task(TaskId("t"))).title == "t"
            assert (await tx.message(number)).status is MailStatus.QUEUED


async def test_a_dependent_added_in_the_same_commit_is_found(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("ground"))
        found: list[list[TaskId]] = []

        async def build_on_it() -> None:
            async with store.transaction() as tx:
                tx.add_task(a_task("house", depends_on=("ground",)))

        async def look() -> None:
            async with store.transaction() as tx:
                found.append(await tx.dependents(TaskId("ground")))

        async with open_store(tmp_path, VirtualClock()) as stranger:
            await together(build_on_it, look)
            async with stranger.transaction() as tx:
                found.append(await tx.dependents(TaskId("ground")))

        assert found == [["house"], ["house"]]


async def test_a_step_that_fails_is_forgotten_with_all_it_changed(tmp_path: Path) -> None:
    async with open_store(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("ground"))
        async with store.transaction() as tx:
            number = (await tx.send(a_note("kept"))).number

        async def refuse() -> None:
            async with store.transaction() as tx:
                tx.add_task(a_task("never", depends_on=("ground",)))
                put(tx, await tx.task(TaskId("ground")), title="never")
                tx.put_message(evolved(await tx.message(number), status=MailStatus.DEAD))
                lost = await tx.send(a_note("never"))
                assert (await tx.message(lost.number)).body == "never"
                raise Refused

        ended = await together(adding(store, "neighbour"), refuse)

        assert isinstance(ended[1], Refused)
        async with store.transaction() as tx:
            assert (await tx.task(TaskId("ground"))).title == "ground"
            assert (await tx.message(number)).status is MailStatus.QUEUED
            assert await tx.dependents(TaskId("ground")) == []
            assert not await tx.has_task(TaskId("never"))
            with pytest.raises(MailNotFound):
                await tx.message(number + 1)
