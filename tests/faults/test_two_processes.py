"""What one process does while another one holds, reads, stands still or is dead."""

import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from core.domain.agent import Role
from core.domain.critique import advice
from core.domain.message import MailStatus
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Complexity, Kind, TaskStatus, Verdict
from core.errors import StoreBusy
from core.store.sqlite import SqliteStore
from core.task_board import TaskBoard
from tests.faults.children import Child, started
from tests.support import engines
from tests.support.board import AUTO, BOB, CREW, PAT, House, agent, open_house, some
from tests.support.clock import VirtualClock
from tests.support.engines import address_in

pytestmark = pytest.mark.usefixtures("engine")

MAX = agent("max", Role.ADVISOR)
LEASE_SECONDS = AUTO.limits.lease_seconds
PICTURES = 20


@asynccontextmanager
async def puppet(folder: Path) -> AsyncIterator[Child]:
    async with started("tests.faults.puppet", address_in(folder)) as child:
        assert await child.hear() == "ready"
        yield child


async def order(child: Child, what: str) -> str:
    await child.tell(what)
    return await child.hear()


def clock_at(seconds_from_now: float) -> VirtualClock:
    """Leases of other processes run by the time of day; this one's clock may be ahead of it."""
    return VirtualClock(time.time() + seconds_from_now)


async def test_a_cancel_in_another_process_reaches_the_holder_with_its_next_heartbeat(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, clock=clock_at(0)) as house, puppet(tmp_path) as holder:
        task = await house.add()
        await order(holder, "claim")
        assert await order(holder, "beat") == "kept"

        await house.board.people.cancel(task.id)

        assert await order(holder, "beat") == "lost"
        assert await order(holder, "submit") == "ClaimLost"
        cancelled = await house.task(task)
        assert cancelled.status is TaskStatus.CANCELLED
        assert cancelled.result is None


async def test_a_claim_of_a_killed_process_is_taken_back_at_once_and_costs_an_attempt(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, clock=clock_at(0)) as house, puppet(tmp_path) as holder:
        task = await house.add()
        await order(holder, "claim")
        assert await house.board.recover_stale_tasks() == []
        await holder.kill()

    async with open_house(tmp_path, clock=clock_at(0)) as house:
        assert some((await house.task(task)).lease_until) > time.time()

        (taken_back,) = await house.board.recover_stale_tasks()

        assert taken_back.id == task.id
        assert taken_back.status is TaskStatus.PENDING
        assert taken_back.attempts == 1
        assert (await house.claim(BOB)).task_id == task.id


async def test_mail_of_a_killed_process_is_taken_back_at_once_and_costs_a_try(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, clock=clock_at(0)) as house, puppet(tmp_path) as holder:
        await house.add()
        await house.submit()
        number = int(await order(holder, "take"))
        assert await house.mailbox.recover() == []
        await holder.kill()

    async with open_house(tmp_path, clock=clock_at(0)) as house:
        (letter,) = await house.mailbox.recover()

        assert letter.number == number
        assert letter.status is MailStatus.QUEUED
        assert letter.tries == 1
        assert (await house.advise(passed=True)).verdict is Verdict.APPROVED


async def test_a_stopped_process_can_not_hand_in_what_was_taken_from_it(tmp_path: Path) -> None:
    async with puppet(tmp_path) as holder:
        async with open_house(tmp_path, clock=clock_at(0)) as house:
            task = await house.add(complexity=Complexity.SIMPLE)
            await order(holder, "claim")
            await holder.stop()
            assert await house.board.recover_stale_tasks() == []

        async with open_house(tmp_path, clock=clock_at(LEASE_SECONDS + 1)) as house:
            (taken_back,) = await house.board.recover_stale_tasks()
            assert taken_back.attempts == 1
            claim = await house.claim(BOB)
            holder.send(signal.SIGCONT)

            assert await order(holder, "beat") == "lost"
            assert await order(holder, "submit") == "ClaimLost"
            await house.board.submit(claim, Work(result="theirs"))
            assert await order(holder, "submit") == "ClaimLost"
            assert (await house.task(task)).result == "theirs"
            assert (await house.told()).count("task_settled") == 1


async def test_a_stopped_advisor_that_answers_too_late_changes_nothing(tmp_path: Path) -> None:
    async with puppet(tmp_path) as holder:
        async with open_house(tmp_path, clock=clock_at(0)) as house:
            task = await house.add()
            await house.submit()
            await order(holder, "take")
            await holder.stop()

        async with open_house(tmp_path, clock=clock_at(LEASE_SECONDS + 1)) as house:
            assert len(await house.mailbox.recover()) == 1
            mail = await house.mail(MAX)
            holder.send(signal.SIGCONT)

            assert await order(holder, "advise") == TaskStatus.REVIEW
            await house.board.add_critique(mail, advice(passed=True))
            approved = await house.task(task)
            assert approved.verdict is Verdict.APPROVED
            assert approved.critique_round == 1
            assert (await house.told()).count("critique_came_late") == 1


async def test_a_process_killed_in_the_middle_of_a_step_leaves_the_lock_free_and_no_trace(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, clock=clock_at(0)) as house, puppet(tmp_path) as holder:
        task = await house.add()
        assert await order(holder, "freeze") == "frozen"
        if engines.chosen == engines.SQLITE:
            impatient = await SqliteStore.open(tmp_path / "swarm.db", lock_seconds=0.05)
            with pytest.raises(StoreBusy):
                await TaskBoard(impatient, AUTO).people.cancel(task.id)
            await impatient.close()

        await holder.kill()

        assert await house.task(task) == task
        assert await house.told() == ["task_added"]
        assert (await house.submit(who=BOB)).status is TaskStatus.REVIEW


async def test_a_reader_sees_whole_steps_and_every_event_while_another_process_writes(
    tmp_path: Path,
) -> None:
    answers: list[str] = []
    async with (
        open_house(tmp_path, clock=clock_at(0)) as house,
        puppet(tmp_path) as reader,
        anyio.create_task_group() as crew,
    ):
        crew.start_soon(keep_writing, house, name="writer")
        for _ in range(PICTURES):
            answers.append(await order(reader, "look"))
        crew.cancel_scope.cancel()

    seen = [int(answer.split()[0]) for answer in answers]
    assert {answer.partition(" ")[2] for answer in answers} == {"whole"}
    assert seen == sorted(seen)
    assert len(set(seen)) > PICTURES / 2, "nothing was written while the reader looked"


async def keep_writing(house: House) -> None:
    """Requests with plans, and work on them, until it is enough."""
    while True:
        await house.board.add(NewTask(title="a request", kind=Kind.REQUEST))
        claim = some(await house.board.claim_next(PAT))
        simple = NewTask(title="a part", complexity=Complexity.SIMPLE)
        await house.board.decompose(claim, [simple] * 5)
        await house.board.submit(await house.claim(), Work(result="done"))


async def test_processes_that_open_a_new_store_together_all_find_it_ready(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        crew = [
            await stack.enter_async_context(started("tests.faults.puppet", address_in(tmp_path)))
            for _ in range(4)
        ]

        assert [await child.hear() for child in crew] == ["ready"] * 4

    async with open_house(tmp_path) as house:
        assert await house.board.recover_stale_tasks(CREW) == []
