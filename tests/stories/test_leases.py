"""Leases: a claim lives as long as its holder does, and nobody writes under an old one."""

import sys
from pathlib import Path

import anyio
import pytest

from core.domain.message import MailStatus
from core.domain.reports import Work
from core.domain.steps import Place, place_of
from core.domain.task import Phase, Reason, Signal, TaskStatus, Verdict
from core.errors import ClaimLost
from core.flows.recovery import recover
from core.task_board import Claim
from tests.support.board import ADA, BOB, PAT, House, open_house, some
from tests.support.database import everything_in
from tests.support.engines import address_in
from tests.support.stories import claimed, finish, status
from tests.support.tasks import part

LEASE = 60
REPOSITORY = Path(__file__).parents[2]
ANOTHER_PROCESS = """
import sys
import anyio
from core.mailbox import Mailbox
from core.store import open_store
from core.task_board import TaskBoard
from tests.support.board import ADA, EVE

async def main():
    store = await open_store(sys.argv[1])
    assert await TaskBoard(store).claim_next(ADA)
    assert await Mailbox(store).receive(EVE)
    print("ready", flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


async def lose(house: House) -> None:
    """The lease runs out, and somebody looks."""
    house.clock.jump(LEASE)
    await house.board.recover_stale_tasks()


async def test_a_heartbeat_keeps_a_claim(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        claim = await house.claim()
        for _ in range(10):
            house.clock.jump(LEASE - 1)
            assert await house.board.heartbeat([claim]) == []
            assert await house.board.recover_stale_tasks() == []

        assert (await house.board.submit(claim, Work(result="x"))).status is TaskStatus.REVIEW


async def test_a_silent_claim_is_taken_back_after_its_lease(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.claim()
        house.clock.jump(LEASE - 1)
        assert await house.board.recover_stale_tasks() == []

        house.clock.jump(1)
        (back,) = await house.board.recover_stale_tasks()

        assert (back.id, back.status, back.attempts) == (task.id, TaskStatus.PENDING, 1)
        assert (await house.claim(BOB)).task_id == task.id


async def test_the_third_lost_lease_fails_the_task(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        for _ in range(3):
            await house.claim()
            await lose(house)

        failed = await house.task(task)
        assert (failed.status, failed.reason) == (TaskStatus.FAILED, Reason.ATTEMPTS)
        again = await house.board.people.retry(task.id)
        assert (again.status, again.attempts) == (TaskStatus.PENDING, 0)


async def test_a_lease_that_ran_out_long_ago_is_a_lost_lease_and_no_timeout(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.claim()

        house.clock.jump(8 * 3600)
        await house.board.recover_stale_tasks()

        back = await house.task(task)
        assert (back.status, back.attempts) == (TaskStatus.PENDING, 1)


async def test_a_result_that_is_handed_in_forgives_lost_leases(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        for _ in range(2):
            await house.claim()
            await lose(house)

        assert (await house.submit()).attempts == 0


async def test_a_lost_fix_stays_a_fix_and_is_forced_at_the_third(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("as it is")
        await house.advise(passed=False)
        for _ in range(2):
            some(await house.board.claim_critique(ADA))
            await lose(house)
            assert await status(house, task) is TaskStatus.CRITIQUE

        some(await house.board.claim_critique(ADA))
        await lose(house)

        forced = await house.task(task)
        assert (forced.status, forced.verdict) == (
            TaskStatus.COMPLETED,
            Verdict.CHANGES_REQUESTED,
        )
        assert (forced.result, forced.needs_attention) == ("as it is", True)


async def test_a_lost_plan_is_planned_again_and_a_lost_close_out_is_not(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request = await house.board.add_request("a request")
        await claimed(house, request)
        await lose(house)
        assert await status(house, request) is TaskStatus.PENDING

        claim = await claimed(house, request)
        (child,) = await house.board.decompose(claim, [part("1")])
        await finish(house, child)
        some(await house.board.claim_close_out(PAT))
        await lose(house)

        waiting = await house.task(request)
        assert (waiting.status, waiting.claimable) == (TaskStatus.WAITING, Phase.CLOSE_OUT)
        assert waiting.attempts == 1


async def test_a_stop_or_an_outage_is_no_attempt(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        for _ in range(10):
            await house.board.let_go(await house.claim())

        assert (await house.task(task)).attempts == 0


async def test_an_error_is_an_attempt(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        for _ in range(2):
            assert (await house.board.let_go(await house.claim(), "it broke")).settled is False

        failed = await house.board.let_go(await house.claim(), "it broke")

        assert (failed.status, failed.reason) == (TaskStatus.FAILED, Reason.ATTEMPTS)
        assert place_of(await house.task(task)) is Place.FAILED


async def test_nobody_writes_under_a_claim_that_was_lost(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        old = await house.claim(ADA)
        await lose(house)
        new = await house.claim(BOB)
        before = everything_in(tmp_path)

        for write in (
            house.board.submit(old, Work(result="too late")),
            house.board.submit_for_review(old, Work(result="too late")),
            house.board.complete(old, Work(result="too late")),
            house.board.iterate(old, "too late"),
            house.board.let_go(old),
            house.board.signal(old, Signal.BLOCKED, "too late"),
            house.board.fail(old, "too late"),
        ):
            with pytest.raises(ClaimLost):
                await write

        assert await house.board.heartbeat([old]) == [old]
        assert everything_in(tmp_path) == before
        assert (await house.board.submit(new, Work(result="in time"))).result == "in time"


async def test_every_step_that_ends_a_claim_raises_the_fence(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        fences = [(await house.claim()).fence]
        await house.board.let_go(Claim(await house.task(task), Phase.WORK, fences[-1]))
        fences.append((await house.task(task)).fence)
        fences.append((await house.claim()).fence)

        assert fences == sorted(set(fences))


async def test_one_heartbeat_renews_many_claims_and_names_the_lost_ones(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        tasks = [await house.add(title) for title in ("one", "two", "three")]
        claims = [await house.claim() for _ in tasks]
        await house.board.people.cancel(tasks[1].id)

        lost = await house.board.heartbeat(claims)

        assert lost == [claims[1]]


async def test_a_claim_that_takes_too_long_is_timed_out_however_alive(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        claim = await house.claim()
        for _ in range(60):
            house.clock.jump(30)
            await house.board.heartbeat([claim])
            await house.board.recover_stale_tasks()

        failed = await house.task(task)
        assert (failed.status, failed.reason) == (TaskStatus.FAILED, Reason.TIMEOUT)


async def test_a_draft_that_timed_out_goes_to_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        claim = await house.claim()
        await house.board.iterate(claim, "most of it")
        house.clock.jump(30 * 60 - 1)
        await house.board.heartbeat([claim])
        assert await house.board.recover_stale_tasks() == []

        house.clock.jump(1)
        await house.board.recover_stale_tasks()

        asked = await house.task(task)
        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.TIMEOUT)
        assert asked.result == "most of it"


async def test_a_result_of_an_earlier_round_does_not_help_against_a_timeout(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(complexity="simple")
        await finish(house, task, "old")
        await house.board.people.redo(task.id)
        claim = await house.claim()
        house.clock.jump(30 * 60)
        await house.board.heartbeat([claim])

        await house.board.recover_stale_tasks()

        assert place_of(await house.task(task)) is Place.FAILED


async def test_claims_and_mail_of_a_killed_process_are_taken_back_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        reviewed = await house.add("to be advised on")
        number = some((await house.submit(who=BOB)).review_mail)
        task = await house.add("to be worked on")
        command = [sys.executable, "-c", ANOTHER_PROCESS, address_in(tmp_path)]
        with anyio.fail_after(60):
            async with await anyio.open_process(command, cwd=REPOSITORY) as process:
                assert (await some(process.stdout).receive()).startswith(b"ready")
                assert await recover(house.board, house.mailbox) == ([], [])
                assert await status(house, task) is TaskStatus.CLAIMED

                process.kill()
                await process.wait()
                await recover(house.board, house.mailbox)

        back = await house.task(task)
        assert (back.status, back.attempts) == (TaskStatus.PENDING, 1)
        async with house.store.read() as reader:
            mail = await reader.message(number)
        assert (mail.task, mail.status, mail.tries) == (reviewed.id, MailStatus.QUEUED, 1)
