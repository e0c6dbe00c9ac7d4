"""Close-out: every request ends, and opens again when there is more to do below it."""

from pathlib import Path

import pytest

from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.steps import Place, place_of
from core.domain.task import Kind, Phase, Reason, Task, TaskStatus
from core.errors import ClaimLost, IllegalTransition
from tests.support.board import ADA, PAT, House, agent, open_house, some
from tests.support.stories import answers, claimed, close, fail, finish, plan, status
from tests.support.tasks import milestone, part

IDEA = NewTask(title="perhaps", kind=Kind.IDEA)


async def a_closed_request(house: House) -> tuple[Task, Task, Task]:
    """A request, its milestone and the task below that, all of them completed."""
    request, (half,) = await house.planned(milestone("m"))
    (child,) = await plan(house, half, part("1"))
    await finish(house, child, "one")
    await close(house, half, "half of it")
    await close(house, request, "all of it")
    return request, half, child


async def test_a_request_is_closed_when_every_child_is_settled(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (first, second) = await house.planned(part("1"), part("2"))
        await finish(house, first)
        assert await house.board.claim_close_out(PAT) is None
        await fail(house, second)

        claim = some(await house.board.claim_close_out(PAT))

        assert (claim.task_id, claim.phase) == (request.id, Phase.CLOSE_OUT)
        assert await house.board.claim_close_out(agent("kim")) is None
        closed = await house.board.complete(claim, Work(result="what there is"))
        assert (closed.status, closed.result) == (TaskStatus.COMPLETED, "what there is")


async def test_a_new_child_opens_its_parents_up_to_the_request(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, half, _ = await a_closed_request(house)

        more = await house.board.add(part("2"), parent=half.id)

        assert await status(house, half) is TaskStatus.WAITING
        assert await status(house, request) is TaskStatus.WAITING
        await finish(house, more)
        await close(house, half, "more than half")
        assert (await close(house, request, "more")).result == "more"
        assert [one.text for one in await answers(house, request)] == ["all of it"]


async def test_a_redone_child_opens_its_parents_up_to_the_request(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, half, child = await a_closed_request(house)

        await house.board.people.redo(child.id)

        assert await status(house, half) is TaskStatus.WAITING
        assert await status(house, request) is TaskStatus.WAITING


async def test_equal_results_bring_back_all_answers_above(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, half, child = await a_closed_request(house)
        await house.board.people.redo(child.id)

        await finish(house, child, "one")

        assert [(await house.task(one)).result for one in (half, request)] == [
            "half of it",
            "all of it",
        ]
        assert {await status(house, one) for one in (half, request)} == {TaskStatus.COMPLETED}
        assert await house.board.claim_close_out(PAT) is None


async def test_an_answer_that_is_to_be_written_again_does_not_come_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child, "one")
        await close(house, request, "a long answer")
        await house.board.people.redo(request.id, "shorter")
        await house.board.people.redo(child.id)

        await finish(house, child, "one")

        assert (await close(house, request, "short")).result == "short"


async def test_a_new_child_ends_a_close_out_that_runs(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child)
        claim = some(await house.board.claim_close_out(PAT))

        await house.board.add(part("2"), parent=request.id)

        with pytest.raises(ClaimLost):
            await house.board.close_out(claim, "too early")
        assert await status(house, request) is TaskStatus.WAITING


async def test_an_idea_below_a_request_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child, _) = await house.planned(part("1"), IDEA)
        await finish(house, child)

        assert await house.board.claim_next(ADA) is None
        assert (await close(house, request)).status is TaskStatus.COMPLETED


async def test_a_promoted_idea_opens_the_request_that_was_closed_without_it(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        request, (child, idea) = await house.planned(part("1"), IDEA)
        await finish(house, child)
        await close(house, request)

        await house.board.promote(idea.id)

        assert await status(house, request) is TaskStatus.WAITING
        assert (await house.claim()).task_id == idea.id


async def test_a_promoted_idea_ends_a_close_out_that_runs(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child, idea) = await house.planned(part("1"), IDEA)
        await finish(house, child)
        claim = some(await house.board.claim_close_out(PAT))

        await house.board.promote(idea.id)

        with pytest.raises(ClaimLost):
            await house.board.close_out(claim, "too early")
        assert await status(house, request) is TaskStatus.WAITING


async def test_a_promoted_idea_is_waited_for_before_the_close_out(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (child, idea) = await house.planned(part("1"), IDEA)
        await finish(house, child)

        await house.board.promote(idea.id)

        assert await house.board.claim_close_out(PAT) is None


async def test_with_nothing_completed_the_request_failed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (first, second) = await house.planned(part("1"), part("2", "1"))
        await fail(house, first)

        closed = await close(house, request, "nothing came of it")

        assert (closed.status, closed.reason) == (TaskStatus.FAILED, Reason.NOTHING_COMPLETED)
        assert closed.result == "nothing came of it"
        assert place_of(await house.task(second)) is Place.BLOCKED_DEPENDENCY


async def test_a_retry_of_nothing_retries_what_failed_at_all_levels(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (half, top) = await house.planned(milestone("m"), part("1"))
        low, dropped = await plan(house, half, part("2"), part("3"))
        await house.board.people.cancel(dropped.id)
        await fail(house, low)
        await fail(house, top)
        await close(house, half)
        await close(house, request)

        await house.board.people.retry(request.id)

        assert [await status(house, one) for one in (request, half, low, top, dropped)] == [
            TaskStatus.WAITING,
            TaskStatus.WAITING,
            TaskStatus.PENDING,
            TaskStatus.PENDING,
            TaskStatus.CANCELLED,
        ]
        await finish(house, low)
        await finish(house, top)
        await close(house, half)
        assert (await close(house, request)).status is TaskStatus.COMPLETED


async def test_a_retry_passes_over_a_milestone_in_which_nothing_failed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (half, top) = await house.planned(milestone("m"), part("1"))
        (dropped,) = await plan(house, half, part("2"))
        await house.board.people.cancel(dropped.id)
        await fail(house, top)
        await close(house, half)
        await close(house, request)

        await house.board.people.retry(request.id)

        assert await status(house, top) is TaskStatus.PENDING
        assert await status(house, request) is TaskStatus.WAITING


async def test_a_retry_is_refused_when_nothing_failed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await house.board.people.cancel(child.id)
        await close(house, request)

        with pytest.raises(IllegalTransition, match="none of its tasks has failed"):
            await house.board.people.retry(request.id)


async def test_a_child_that_fails_again_brings_the_same_failure_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await fail(house, child)
        await close(house, request, "nothing came of it")
        await house.board.people.retry(request.id)

        await fail(house, child)

        closed = await house.task(request)
        assert (closed.status, closed.reason) == (TaskStatus.FAILED, Reason.NOTHING_COMPLETED)
        assert closed.result == "nothing came of it"


async def test_results_are_collected_from_the_own_subtree_only(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (half, _) = await house.planned(milestone("m"), IDEA)
        low = await plan(house, half, part("1"), part("2"))
        top = await house.board.add(part("3"), parent=request.id)
        other, others = await house.planned(part("4"))

        assert [one.id for one in await house.board.collect_results(request.id)] == [
            half.id,
            *(one.id for one in low),
            top.id,
        ]
        assert await house.board.collect_results(half.id) == low
        assert await house.board.collect_results(other.id) == others


async def test_a_request_is_planned_once(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child)
        claim = some(await house.board.claim_close_out(PAT))

        with pytest.raises(IllegalTransition):
            await house.board.decompose(claim, [part("2")])

        await house.board.let_go(claim, "it broke")
        assert await status(house, request) is TaskStatus.WAITING
        assert await house.board.claim_next(PAT) is None


async def test_a_failed_close_out_is_opened_by_a_child_that_is_retried(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (first, second) = await house.planned(part("1"), part("2"))
        await finish(house, first)
        await fail(house, second)
        for _ in range(3):
            await house.board.let_go(some(await house.board.claim_close_out(PAT)), "it broke")
        assert (await house.task(request)).reason is Reason.ATTEMPTS

        await house.board.people.retry(second.id)

        opened = await house.task(request)
        assert (opened.status, opened.attempts) == (TaskStatus.WAITING, 0)


async def test_nothing_is_added_below_something_cancelled(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, half, _ = await a_closed_request(house)
        await house.board.add(part("2"), parent=request.id)
        await house.board.people.cancel(request.id)

        for parent in (request, half):
            with pytest.raises(IllegalTransition):
                await house.board.add(part("3"), parent=parent.id)


async def test_cancelling_takes_the_subtree_and_leaves_what_is_completed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (half, top) = await house.planned(milestone("m"), part("1"))
        done, working = await plan(house, half, part("2"), part("3"))
        await finish(house, done)
        claim = await claimed(house, working)

        await house.board.people.cancel(request.id)

        assert await status(house, done) is TaskStatus.COMPLETED
        assert {await status(house, one) for one in (request, half, top, working)} == {
            TaskStatus.CANCELLED
        }
        assert await house.board.heartbeat([claim]) == [claim]
