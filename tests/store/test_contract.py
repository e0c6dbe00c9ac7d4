"""What any store promises: what is put is what is read, by whoever reads it."""

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from pathlib import Path

import pytest

from core.domain.agent import Role
from core.domain.events import EventType, SaidFact
from core.domain.message import MailStatus, Message, MessageKind, read_message
from core.domain.task import FIELDS, Phase, Task, TaskId, TaskStatus
from core.errors import MailNotFound, StoreError, TaskNotFound
from core.store.protocol import Store, Transaction, Wanted
from tests.store.stores import Backend
from tests.support.board import some
from tests.support.clock import VirtualClock
from tests.support.samples import (
    EVE,
    FULL_MAIL,
    FULL_TASK,
    a_critique,
    a_feedback,
    a_note,
    a_task,
    an_answer,
    change,
    evolved,
    put,
    put_on,
    seen,
)


async def seen_by_all(writer: Store, other: Store, task_id: str) -> list[Task]:
    """A task as each store sees it, in a picture and in a step."""
    views = [await seen(writer, task_id), await seen(other, task_id)]
    for store in (writer, other):
        async with store.transaction() as tx:
            views.append(await tx.task(TaskId(task_id)))
    return views


def test_the_samples_leave_no_field_at_its_default() -> None:
    plain_task = Task(id=TaskId("?"), root=TaskId("?"), title="?")
    plain_mail = Message(kind=MessageKind.NOTE)

    same = [
        name
        for plain, full in ((plain_task, FULL_TASK), (plain_mail, FULL_MAIL))
        for name, value in vars(full).items()
        if value == vars(plain)[name]
    ]

    assert same == []
    assert vars(plain_task).keys() == vars(FULL_TASK).keys() == set(FIELDS)


async def test_every_field_of_a_task_survives_a_round_trip(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await put_on(store, FULL_TASK)

        views = await seen_by_all(store, other, "full")

        assert views == [FULL_TASK] * 4


async def test_every_field_of_a_task_can_change_and_change_back(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    plain = Task(id=TaskId("full"), root=TaskId("full"), title="plain")
    full = evolved(FULL_TASK, version=2)
    back = evolved(plain, version=3)
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await put_on(store, plain)

        async with store.transaction() as tx:
            await tx.task(plain.id)
            tx.put_task(full, FIELDS)
        changed = await seen_by_all(store, other, "full")
        async with other.transaction() as tx:
            await tx.task(plain.id)
            tx.put_task(back, FIELDS)
        changed_back = await seen_by_all(store, other, "full")

        assert changed == [full] * 4
        assert changed_back == [back] * 4


async def test_a_task_survives_the_closing_of_its_store(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, FULL_TASK)

    async with backend.open(tmp_path, VirtualClock()) as store:
        assert await seen(store, "full") == FULL_TASK


async def test_the_last_of_many_changes_in_one_step_is_kept(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        task = a_task("t")

        async with store.transaction() as tx:
            tx.add_task(task)
            task = put(tx, task, title="second", tags=("x",))
            assert await tx.all_tasks() == [task]
            task = put(tx, task, title="third", tags=())
            task = put(tx, task, message="fourth")

        assert await seen(store, "t") == task
        assert (task.title, task.version) == ("third", 4)


OLD, NEW = TaskId("old"), TaskId("new")
ASKED: dict[str, tuple[Callable[[Transaction], Awaitable[object]], object]] = {
    "task": (lambda tx: title_of(tx.task(OLD)), "changed"),
    "has_task": (lambda tx: tx.has_task(NEW), True),
    "ids_like": (lambda tx: tx.ids_like("n", 5), [NEW]),
    "children": (lambda tx: count_of(tx.children(OLD)), 1),
    "has_open_child": (lambda tx: tx.has_open_child(OLD), True),
    "dependents": (lambda tx: tx.dependents(OLD), [NEW]),
    "family": (lambda tx: count_of(tx.family(OLD)), 2),
    "count_family": (lambda tx: tx.count_family(OLD), 1),
    "all_tasks": (lambda tx: count_of(tx.all_tasks()), 2),
    "held": (lambda tx: count_of(tx.held()), 1),
    "to_be_fixed": (lambda tx: count_of(tx.to_be_fixed()), 1),
    "critiques": (lambda tx: tx.critiques(NEW), [(1, a_critique())]),
    "feedback": (lambda tx: tx.feedback(NEW), [a_feedback()]),
    "answers": (lambda tx: tx.answers(NEW), [an_answer("new", 1)]),
    "messages": (lambda tx: count_of(tx.messages(MailStatus.DEAD)), 1),
    "next_claimable": (lambda tx: title_of(tx.next_claimable(Wanted(Phase.FIX))), "new"),
    "next_message": (lambda tx: tx.next_message(EVE, frozenset({Role.ADVISOR})), None),
}
"""What can be asked of a step, and the answer after it wrote something."""


async def title_of(found: Awaitable[Task | None]) -> str:
    return some(await found).title


async def count_of(found: Awaitable[Sequence[object]]) -> int:
    return len(await found)


@pytest.mark.parametrize("question", ASKED)
async def test_whatever_a_step_asks_first_it_sees_what_it_wrote(
    backend: Backend, tmp_path: Path, question: str
) -> None:
    ask, expected = ASKED[question]
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("old"))

        async with store.transaction() as tx:
            put(tx, await tx.task(OLD), title="changed", lease_until=9.0)
            new = a_task("new", parent=OLD, root=OLD, depends_on=(OLD,), claimable=Phase.FIX)
            tx.add_task(new)
            sent = await tx.send(a_note())
            tx.put_message(evolved(sent, status=MailStatus.DEAD))
            tx.add_critique(new, a_critique())
            tx.add_feedback(NEW, a_feedback())
            tx.add_answer(an_answer("new", 1))
            answer = await ask(tx)

        assert answer == expected


async def test_every_field_of_a_mail_survives_a_round_trip(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        async with store.transaction() as tx:
            sent = await tx.send(FULL_MAIL)

        async with store.transaction() as tx:
            in_a_step = await tx.message(sent.number)
        async with other.read() as reader:
            elsewhere = await reader.message(sent.number)
            listed = await reader.messages()

        assert sent == evolved(FULL_MAIL, number=sent.number)
        assert [in_a_step, elsewhere, *listed] == [sent] * 3


async def test_a_mail_can_be_changed_from_any_copy_of_it(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        async with store.transaction() as tx:
            sent = await tx.send(FULL_MAIL)
        copy = read_message(deepcopy(vars(sent)))
        changed = evolved(copy, status=MailStatus.QUEUED, holder=None, lease_until=None, tries=3)

        async with store.transaction() as tx:
            await tx.message(sent.number)
            tx.put_message(changed)

        async with store.transaction() as tx:
            assert await tx.message(sent.number) == changed
        async with other.transaction() as tx:
            assert await tx.message(sent.number) == changed


async def test_mail_is_numbered_in_the_order_it_is_sent(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    numbers = []
    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        for store in (one, two, one, one, two):
            async with store.transaction() as tx:
                numbers.append((await tx.send(a_note())).number)

        async with one.read() as reader:
            listed = [mail.number for mail in await reader.messages()]

    assert listed == numbers == sorted(set(numbers))


async def test_critiques_feedback_and_answers_come_in_the_order_they_happened(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        first, second = a_task("t", round=1), a_task("t", round=2)
        await put_on(store, first, a_task("another"))
        async with store.transaction() as tx:
            tx.add_critique(first, a_critique("z"))
            tx.add_feedback(first.id, a_feedback("z"))
            tx.add_answer(an_answer("t", 1, "z"))
        async with other.transaction() as tx:
            tx.add_critique(second, a_critique("a"))
            tx.add_feedback(second.id, a_feedback("a"))
            tx.add_answer(an_answer("t", 2, "a"))

        async with store.read() as reader:
            assert await reader.critiques(first.id) == [(1, a_critique("z")), (2, a_critique("a"))]
            assert await reader.feedback(first.id) == [a_feedback("z"), a_feedback("a")]
            assert await reader.answers(first.id) == [
                an_answer("t", 1, "z"),
                an_answer("t", 2, "a"),
            ]
            assert await reader.critiques(TaskId("another")) == []
            assert await reader.feedback(TaskId("another")) == []
            assert await reader.answers(TaskId("another")) == []


async def test_an_event_is_read_as_it_was_told(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            data = {"text": "why ✓", "status": TaskStatus.FAILED, "fence": 3}
            tx.tell(EventType.TASK_FAILED, TaskId("t"), TaskId("r"), data)
            tx.tell(EventType.MAIL_SENT, None, None, {"mail": 4})
            now = tx.now

        async with store.read() as reader:
            failed, sent = await reader.events(0, 10)

        assert (failed.ts, failed.type, failed.task, failed.request) == (
            now,
            EventType.TASK_FAILED,
            "t",
            "r",
        )
        assert failed.data == SaidFact(text="why ✓", status=TaskStatus.FAILED, fence=3)
        assert failed.data.model_fields_set == {"text", "status", "fence"}
        assert (sent.task, sent.request, sent.seq > failed.seq) == (None, None, True)


async def test_what_is_not_there_is_not_found(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.read() as reader:
            assert not await reader.has_task(TaskId("nobody"))
            with pytest.raises(TaskNotFound):
                await reader.task(TaskId("nobody"))
            with pytest.raises(MailNotFound):
                await reader.message(7)

        with pytest.raises(TaskNotFound):
            await change(store, "nobody", title="x")


async def test_an_id_is_given_only_once(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("t", title="first"))

        with pytest.raises(StoreError):
            await put_on(store, a_task("t", title="second"))

        assert (await seen(store, "t")).title == "first"


async def test_a_step_and_a_picture_know_the_time_at_which_they_began(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock(start=5.0)
    async with backend.open(tmp_path, clock) as store:
        clock.jump(2.5)

        async with store.transaction() as tx:
            clock.jump(1)
            assert tx.now == 7.5
        async with store.read() as reader:
            clock.jump(1)
            assert reader.now == 8.5
