"""What any store promises about a step: all of it is kept or nothing, whatever goes wrong."""

from pathlib import Path

import pytest

from core.bell import EVENTS
from core.domain.events import EventType
from core.domain.message import MailStatus, Message
from core.domain.task import TaskId
from core.errors import StoreError, UnstorableText
from core.store.protocol import Store, Transaction
from tests.store.stores import Backend
from tests.support.clock import VirtualClock
from tests.support.samples import (
    Refused,
    a_critique,
    a_feedback,
    a_note,
    a_task,
    adding,
    an_answer,
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

OLD = TaskId("old")


async def write_everything(tx: Transaction, task_id: str = "born") -> None:
    """One of each thing that a step can write; the old task and the first mail are changed."""
    put(tx, await tx.task(OLD), title="changed")
    born = a_task(task_id, parent=OLD, root=OLD, depends_on=(OLD,))
    tx.add_task(born)
    tx.put_message(evolved(await tx.message(1), status=MailStatus.DEAD))
    await tx.send(a_note("never sent"))
    tx.add_critique(born, a_critique())
    tx.add_feedback(OLD, a_feedback())
    tx.add_answer(an_answer(OLD, 1))
    tx.tell(*an_event("never told", OLD))
    tx.ring("everything")


async def write_and_raise(store: Store, *, looked: bool) -> None:
    """A step that writes everything, may look at that, and fails."""
    async with store.transaction() as tx:
        await write_everything(tx)
        if looked:
            assert len(await tx.children(OLD)) == 1
            assert len(await tx.messages()) == 2
        raise Refused


async def everything_in(store: Store, task_id: str = "born") -> list[object]:
    """What `write_everything` leaves, as this store's readers and its steps see it."""
    found: list[object] = []
    for view in (store.read(), store.transaction()):
        async with view as reader:
            found += [
                await reader.task(OLD),
                await reader.all_tasks(),
                await reader.has_task(TaskId(task_id)),
                await reader.dependents(OLD),
                await reader.message(1),
                await reader.messages(),
                await reader.critiques(TaskId(task_id)),
                await reader.feedback(OLD),
                await reader.answers(OLD),
                await reader.events(0, 100),
            ]
    return found


async def prepare(store: Store) -> None:
    async with store.transaction() as tx:
        tx.add_task(a_task(OLD))
        await tx.send(a_note("the first"))
        tx.tell(*an_event("begun"))


@pytest.mark.parametrize("looked", [False, True], ids=["at once", "after looking at its writes"])
async def test_a_step_that_raises_leaves_nothing(
    backend: Backend, tmp_path: Path, looked: bool
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await prepare(store)
        before = await everything_in(store)

        with pytest.raises(Refused):
            await write_and_raise(store, looked=looked)

        assert await everything_in(store) == before
        assert await everything_in(other) == before


async def test_a_step_that_is_kept_leaves_everything(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await prepare(store)
        before = await everything_in(store)

        async with store.transaction() as tx:
            await write_everything(tx)

        after = await everything_in(store)
        assert await everything_in(other) == after
        assert all(new != old for new, old in zip(after, before, strict=True))


@pytest.mark.parametrize("looked", [False, True], ids=["at once", "after looking at its writes"])
@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "in the middle", "last"])
async def test_a_step_that_raises_leaves_its_neighbours_alone(
    backend: Backend, tmp_path: Path, place: int, looked: bool
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await prepare(store)
        steps = [adding(store, "left"), adding(store, "right")]
        steps.insert(place, lambda: write_and_raise(store, looked=looked))

        ended = await together(*steps)

        assert [type(one) for one in ended].count(Refused) == 1
        assert ended.count(None) == 2
        assert (await has(store, "left"), await has(store, "right")) == (True, True)
        assert not await has(store, "born")
        assert (await seen(store, "old")).title == "old"
        async with store.transaction() as tx:
            assert (await tx.task(OLD)).title == "old"
            assert [mail.body for mail in await tx.messages(MailStatus.QUEUED)] == ["the first"]


async def test_a_step_that_raises_does_not_stand_in_the_way_of_its_own_retry(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await prepare(store)
        with pytest.raises(Refused):
            await write_and_raise(store, looked=True)

        async with store.transaction() as tx:
            await write_everything(tx)

        assert (await seen(store, "old")).title == "changed"
        assert await has(store, "born")


async def test_event_numbers_rise_past_steps_that_failed(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await prepare(store)
        for number in range(3):
            await adding(store, f"one {number}")()
            with pytest.raises(Refused):
                await write_and_raise(store, looked=number == 1)
            await adding(other, f"two {number}")()

        numbers = await told(store)
        assert numbers == sorted(set(numbers))
        assert len(numbers) == 7
        if backend.numbers_without_gaps:
            assert numbers == list(range(1, 8))


async def test_a_commit_that_fails_fails_every_step_that_shares_it(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await prepare(store)
        before = await everything_in(store)

        async def write() -> None:
            async with store.transaction() as tx:
                await write_everything(tx)

        with backend.failing_commits(store):
            ended = await together(adding(store, "left"), write, adding(store, "right"))

        assert all(isinstance(one, StoreError) for one in ended)
        assert await everything_in(store) == before
        assert await everything_in(other) == before


async def test_a_store_goes_on_after_a_commit_that_failed(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await prepare(store)
        with backend.failing_commits(store), pytest.raises(StoreError):
            async with store.transaction() as tx:
                await write_everything(tx)

        async with store.transaction() as tx:
            await write_everything(tx)
        await change(other, "old", title="again")

        assert (await seen(store, "old")).version == 3
        assert [mail.body for mail in await mails(store)] == ["the first", "never sent"]
        if backend.numbers_without_gaps:
            assert await told(store) == [1, 2]


async def test_nobody_is_told_what_a_failed_commit_did_not_keep(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await prepare(store)

        async def look() -> str:
            async with store.transaction() as tx:
                return (await tx.task(OLD)).title

        async def write() -> None:
            await change(store, "old", title="never kept")

        with backend.failing_commits(store):
            written, looked = await together(write, look)

        assert isinstance(written, StoreError)
        assert looked == "old" or isinstance(looked, StoreError)


UNWRITABLE = {
    "half a character": evolved(a_task("bad"), message="\ud83d"),
    "a number too large": evolved(a_task("bad"), attempts=2**70),
}


@pytest.mark.parametrize("name", UNWRITABLE)
async def test_a_step_that_can_not_be_written_fails_and_the_store_goes_on(
    backend: Backend, tmp_path: Path, name: str
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:

        async def write() -> None:
            await put_on(store, UNWRITABLE[name])

        (ended,) = await together(write)
        (next_one,) = await together(adding(store, "next"), limit_seconds=1)

        assert isinstance(ended, Exception)
        assert next_one is None
        assert (await has(store, "bad"), await has(store, "next")) == (False, True)


async def test_an_event_that_can_not_be_written_fails_its_step_and_the_store_goes_on(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:

        async def write() -> None:
            async with store.transaction() as tx:
                tx.add_task(a_task("bad"))
                tx.tell(EventType.TASK_LET_GO, None, None, {"text": "\udcff"})

        (ended,) = await together(write)
        (next_one,) = await together(adding(store, "next"), limit_seconds=1)

        assert isinstance(ended, Exception)
        assert next_one is None
        assert (await has(store, "bad"), await has(store, "next")) == (False, True)


async def test_a_text_with_half_a_character_fails_its_own_step_only(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:

        async def write() -> None:
            await put_on(store, UNWRITABLE["half a character"])

        before, bad, after = await together(adding(store, "a"), write, adding(store, "b"))

        assert isinstance(bad, UnstorableText)
        assert (before, after) == (None, None)
        assert [await has(store, name) for name in ("a", "bad", "b")] == [True, False, True]


async def test_who_hears_a_ring_finds_what_it_was_rung_for(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        ear = store.bell.listen("added t")

        async def wait_then_look() -> bool:
            assert await ear.wait(poll_seconds=3600)
            return await has(other, "t")

        found, added = await together(wait_then_look, adding(store, "t"))

        assert (found, added) == (True, None)


async def test_a_step_that_failed_rings_for_nobody(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await prepare(store)
        ears = [store.bell.listen(topic) for topic in ("refused", "added lost", "added kept")]

        async def fail() -> None:
            async with store.transaction() as tx:
                tx.ring("refused")
                raise Refused

        with backend.failing_commits(store):
            await together(adding(store, "lost"))
        await together(fail, adding(store, "kept"))

        assert [await ear.wait(poll_seconds=0) for ear in ears] == [False, False, True]


async def test_a_step_that_raises_after_it_rang_takes_its_ring_back(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        ear = store.bell.listen("added t")

        async def ring_then_raise() -> None:
            async with store.transaction() as tx:
                tx.add_task(a_task("t"))
                tx.ring("added t")
                await tx.all_tasks()
                raise Refused

        await together(adding(store, "neighbour"), ring_then_raise)

        assert not await ear.wait(poll_seconds=0)


async def test_any_step_that_tells_of_something_wakes_who_follows_events(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        ear = store.bell.listen(EVENTS)

        await put_on(store, a_task("untold"))
        untold = await ear.wait(poll_seconds=0)
        async with store.transaction() as tx:
            tx.tell(*an_event())
        told_of = await ear.wait(poll_seconds=0)

        assert (untold, told_of) == (False, True)


async def mails(store: Store) -> list[Message]:
    async with store.read() as reader:
        return await reader.messages()
