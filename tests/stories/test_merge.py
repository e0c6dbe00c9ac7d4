"""Code: accepted work is merged one after the other, and a merge that began is finished."""

from pathlib import Path

import pytest

from core.domain.reports import Work
from core.domain.steps import Place, place_of
from core.domain.task import Reason, Task, TaskStatus, Verdict
from core.errors import ClaimLost, IllegalTransition
from core.task_board import Claim
from tests.support.board import ADA, BATCH, MERGER, House, agent, open_house, some
from tests.support.stories import answers, claimed, close, finish, status
from tests.support.tasks import part


async def merging(house: House, result: str = "a branch") -> Task:
    task = await house.add(code=True, complexity="simple")
    return await finish(house, task, result)


async def merge(house: House) -> Claim:
    return some(await house.board.claim_merge(MERGER))


async def test_code_is_worked_on_advised_on_and_merged(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(code=True)
        claim = await claimed(house, task)
        await house.board.submit(claim, Work(result="a branch", quality_passed=True))
        passed = await house.advise(passed=True)
        assert (passed.status, passed.verdict) == (TaskStatus.MERGING, Verdict.APPROVED)

        done = await house.board.merged(await merge(house))

        assert (done.status, done.merged) == (TaskStatus.COMPLETED, True)


async def test_code_whose_quality_commands_fail_goes_to_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(code=True, complexity="simple")

        claim = await claimed(house, task)
        asked = await house.board.submit(claim, Work(result="a branch", quality_passed=False))

        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.POLICY)
        assert await house.board.claim_merge(MERGER) is None


async def test_approved_code_is_merged(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await merging(house)
        assert await house.board.claim_merge(MERGER) is None

        assert (await house.board.people.approve(task.id)).status is TaskStatus.MERGING

        assert (await house.board.merged(await merge(house))).merged


async def test_one_task_is_merged_by_one(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await merging(house)
        await merge(house)

        assert await house.board.claim_merge(agent("another")) is None


async def test_the_first_conflict_is_work_for_an_executor(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)

        back = await house.board.conflict(await merge(house), "both changed a.py")

        assert (back.status, back.round, back.conflicts) == (TaskStatus.PENDING, 2, 1)
        assert some((await claimed(house, task)).task.feedback).text == "both changed a.py"


async def test_the_second_conflict_is_work_for_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)
        await house.board.conflict(await merge(house), "both changed a.py")
        await finish(house, task, "another branch")

        asked = await house.board.conflict(await merge(house), "and b.py")

        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.CONFLICT)
        assert (await house.board.people.approve(task.id)).status is TaskStatus.MERGING


async def test_a_redo_forgets_conflicts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)
        await house.board.conflict(await merge(house), "both changed a.py")
        await finish(house, task, "another branch")
        await house.board.conflict(await merge(house), "and b.py")

        again = await house.board.people.redo(task.id, "from scratch")

        assert again.conflicts == 0


async def test_a_merge_that_fails_goes_to_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await merging(house)

        asked = await house.board.merge_failed(await merge(house), "the branch is gone")

        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.MERGE_FAILED)
        assert asked.message == "the branch is gone"


async def test_cancelled_before_its_merge_began_it_is_not_merged(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)

        await house.board.people.cancel(task.id)

        assert await status(house, task) is TaskStatus.CANCELLED
        assert await house.board.claim_merge(MERGER) is None


async def test_a_cancel_waits_for_a_merge_that_began(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)
        claim = await merge(house)

        waiting = await house.board.people.cancel(task.id)
        assert place_of(waiting) is Place.MERGE_BEGUN
        assert await house.board.heartbeat([claim]) == []

        done = await house.board.merged(claim)
        assert (done.status, done.merged, done.cancel_wanted) == (TaskStatus.COMPLETED, True, False)


async def test_a_cancelled_merge_that_does_not_succeed_is_cancelled_then(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (conflicting, failing, lost) = await house.planned(
            part("1", code=True), part("2", code=True), part("3", code=True)
        )
        for task in (conflicting, failing, lost):
            await finish(house, task, f"branch {task.title}")
        first, second, third = [await merge(house) for _ in range(3)]

        await house.board.people.cancel(request.id)
        await house.board.conflict(first, "both changed a.py")
        await house.board.merge_failed(second, "the branch is gone")
        await house.board.let_go(third)

        assert await status(house, request) is TaskStatus.CANCELLED
        for task in (conflicting, failing, lost):
            cancelled = await house.task(task)
            assert cancelled.status is TaskStatus.CANCELLED
            assert not cancelled.cancel_wanted


async def test_a_silent_merge_is_begun_again_and_after_three_a_person_looks(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)
        for _ in range(2):
            await merge(house)
            house.clock.jump(60)
            await house.board.recover_stale_tasks()
            assert place_of(await house.task(task)) is Place.MERGING

        claim = await merge(house)
        house.clock.jump(60)
        await house.board.recover_stale_tasks()

        asked = await house.task(task)
        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.MERGE_FAILED)
        with pytest.raises(ClaimLost):
            await house.board.merged(claim)


async def test_a_merge_a_person_sends_on_has_all_its_attempts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)
        for _ in range(3):
            await house.board.let_go(await merge(house), "git is gone")

        await house.board.people.approve(task.id)
        back = await house.board.let_go(await merge(house), "git is gone")

        assert (back.status, back.attempts) == (TaskStatus.MERGING, 1)


async def test_a_merge_after_a_fix_that_was_forced_has_all_its_attempts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(code=True)
        await finish(house, task)
        await house.advise(passed=False)
        for _ in range(3):
            await house.board.let_go(some(await house.board.claim_critique(ADA)), "it broke")
        assert place_of(await house.task(task)) is Place.HUMAN_REVIEW

        await house.board.people.approve(task.id)
        back = await house.board.let_go(await merge(house), "git is gone")

        assert (back.status, back.attempts) == (TaskStatus.MERGING, 1)


async def test_closed_unmerged_is_done_for_text_and_lost_for_code(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        request, (first, code, text) = await house.planned(
            part("1", code=True), part("2", "1", code=True), part("3", "1")
        )
        await finish(house, first, "a branch")

        closed = await house.board.people.close_unmerged(first.id)

        assert (closed.status, closed.merged) == (TaskStatus.COMPLETED, False)
        assert place_of(await house.task(code)) is Place.BLOCKED_DEPENDENCY
        await finish(house, text)
        await house.board.people.approve(text.id)
        assert (await close(house, request)).status is TaskStatus.COMPLETED


async def test_only_code_that_is_not_merged_can_be_closed_unmerged(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        text = await finish(house, await house.add(complexity="simple"))

        with pytest.raises(IllegalTransition, match="only code"):
            await house.board.people.close_unmerged(text.id)


async def test_what_is_merged_stays_merged_when_its_approval_is_revoked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house)
        await house.board.merged(await merge(house))

        revoked = await house.board.people.revoke(task.id)
        assert (revoked.status, revoked.merged) == (TaskStatus.HUMAN_REVIEW, True)

        done = await house.board.people.approve(task.id)
        assert done.status is TaskStatus.COMPLETED
        assert await house.board.claim_merge(MERGER) is None


async def test_redone_code_is_merged_again(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await merging(house, "a branch")
        await house.board.merged(await merge(house))
        await house.board.people.redo(task.id, "with tests")

        again = await finish(house, task, "a better branch")

        assert (again.status, again.merged) == (TaskStatus.MERGING, False)
        assert (await house.board.merged(await merge(house))).merged
        assert [one.text for one in await answers(house, task)] == ["a branch"]
