"""Redo is surgical: what is built on a result changes only when the result does."""

from pathlib import Path

import pytest

from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Kind, TaskStatus, hash_of
from core.errors import ClaimLost, IllegalTransition
from tests.support.board import ADA, BATCH, PAT, House, open_house, some
from tests.support.stories import answers, claimed, close, fail, finish, plan, redo, status
from tests.support.tasks import milestone, part


async def a_chain_of_three(house: House) -> list[str]:
    """The results of three tasks of which each rests on the one before."""
    return [(await house.submit(result)).id for result in ("one", "two", "three")]


async def test_whoever_works_on_the_old_result_stops_at_no_cost(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1"))
        await finish(house, first)
        claim = await claimed(house, second)

        await house.board.people.redo(first.id, "shorter")

        called_back = await house.task(second)
        assert (called_back.status, called_back.attempts) == (TaskStatus.PENDING, 0)
        with pytest.raises(ClaimLost):
            await house.board.submit(claim, Work(result="on old ground"))


async def test_whoever_works_below_a_dependent_milestone_stops_too(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, half) = await house.planned(part("1"), milestone("m", "1"))
        await finish(house, first)
        (child,) = await plan(house, half, part("2"))
        await claimed(house, child)

        await house.board.people.redo(first.id)

        assert await status(house, child) is TaskStatus.PENDING


async def test_whoever_mends_or_plans_on_the_old_result_goes_on(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second, half) = await house.planned(
            part("1"), part("2", "1", complexity="normal"), milestone("m", "1")
        )
        await finish(house, first)
        await finish(house, second)
        await house.advise(passed=False)
        claims = [some(await house.board.claim_critique(ADA)), await claimed(house, half)]

        await house.board.people.redo(first.id)

        assert await house.board.heartbeat(claims) == []


async def test_what_is_finished_stays_while_the_redo_runs(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second, _) = await house.planned(part("1"), part("2", "1"), part("3", "2"))
        await a_chain_of_three(house)

        await house.board.people.redo(first.id)
        await claimed(house, first)

        assert await status(house, second) is TaskStatus.COMPLETED


async def test_a_dependent_goes_stale_only_when_the_new_result_differs(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second, third) = await house.planned(part("1"), part("2", "1"), part("3", "2"))
        await a_chain_of_three(house)

        await redo(house, first, "one")
        assert (await house.task(second)).round == 1

        await redo(house, first, "another one")
        assert (await house.task(second)).round == 2
        assert await status(house, second) is TaskStatus.PENDING
        assert await status(house, third) is TaskStatus.COMPLETED


async def test_change_goes_down_the_graph_step_by_step_and_ends_where_nothing_differs(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second, third) = await house.planned(part("1"), part("2", "1"), part("3", "2"))
        await a_chain_of_three(house)
        await redo(house, first, "another one")

        await finish(house, second, "two")

        assert (await house.task(third)).round == 1
        assert await status(house, third) is TaskStatus.COMPLETED


async def test_a_new_round_starts_with_nothing_of_the_old_one(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("first")
        await house.advise(passed=False)
        await house.fix("second")

        again = await house.board.people.redo(task.id, "shorter")

        assert (again.round, again.attempts, again.critique_round, again.round_iterations) == (
            2,
            0,
            0,
            0,
        )
        assert (again.verdict, again.critique, again.auto_approved) == (None, None, False)
        assert again.iterations == 2
        assert again.feedback is not None
        assert again.feedback.text == "shorter"


async def test_an_equal_result_brings_the_answer_back_and_no_new_version(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child, "one")
        await close(house, request, "the answer")
        await house.board.people.redo(child.id)
        assert await status(house, request) is TaskStatus.WAITING

        await finish(house, child, "one")

        restored = await house.task(request)
        assert (restored.status, restored.result) == (TaskStatus.COMPLETED, "the answer")
        assert await answers(house, request) == []
        assert await house.board.claim_close_out(PAT) is None


async def test_another_result_asks_for_another_answer_and_the_old_one_is_kept(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child, "one")
        await close(house, request, "the answer")

        await redo(house, child, "another one")
        answered = await close(house, request, "another answer")

        assert answered.result == "another answer"
        assert [(one.version, one.text, one.partial) for one in await answers(house, request)] == [
            (1, "the answer", False)
        ]


async def test_the_accepted_result_stays_current_until_a_new_one_is_completed(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await house.add(complexity="simple")
        await finish(house, task, "old")
        await house.board.people.approve(task.id)
        await house.board.people.redo(task.id)
        assert (await house.task(task)).result == "old"

        looked_at = await finish(house, task, "new")
        assert looked_at.accepted == hash_of("old")

        accepted = await house.board.people.approve(task.id)
        assert accepted.accepted == hash_of("new")
        assert [one.text for one in await answers(house, task)] == ["old"]


async def test_a_draft_does_not_lose_what_was_accepted(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(complexity="simple")
        await finish(house, task, "old")
        await house.board.people.redo(task.id)
        claim = await claimed(house, task)

        await house.board.iterate(claim, "half of it")
        await house.board.iterate(claim, "most of it")
        await house.board.fail(claim, "it can't be better")

        assert [one.text for one in await answers(house, task)] == ["old"]


async def test_a_redo_that_fails_leaves_standing_what_was_built(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (first, second) = await house.planned(part("1"), part("2", "1"))
        await finish(house, first, "one")
        await finish(house, second, "two")
        await close(house, request)
        await house.board.people.redo(first.id)

        await fail(house, first)

        built = await house.task(second)
        assert (built.status, built.result, built.round) == (TaskStatus.COMPLETED, "two", 1)
        assert (await close(house, request, "with a gap")).status is TaskStatus.COMPLETED


async def test_a_redo_that_is_cancelled_leaves_standing_what_was_built(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1"))
        await finish(house, first, "one")
        await finish(house, second, "two")
        await house.board.people.redo(first.id)

        await house.board.people.cancel(first.id)

        assert await status(house, second) is TaskStatus.COMPLETED


async def test_a_fix_keeps_what_the_work_was_built_on(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1", complexity="normal"))
        await finish(house, first, "one")
        await finish(house, second, "two")
        await house.advise(passed=False)
        await house.board.people.redo(first.id)
        await house.fix("two, mended")
        assert await status(house, second) is TaskStatus.COMPLETED

        await finish(house, first, "another one")

        assert await status(house, second) is TaskStatus.PENDING


async def test_redoing_a_request_writes_only_the_answer_again(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child, "one")
        await close(house, request, "a long answer")
        before = await house.task(child)

        waiting = await house.board.people.redo(request.id, "shorter")

        assert waiting.status is TaskStatus.WAITING
        assert await house.board.claim_next(ADA) is None
        answered = await close(house, request, "a short answer")
        assert (answered.result, answered.feedback) == ("a short answer", None)
        assert [one.text for one in await answers(house, request)] == ["a long answer"]
        assert await house.task(child) == before


async def test_nothing_below_something_cancelled_is_redone(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (done, _) = await house.planned(part("1"), part("2"))
        await finish(house, done)
        await house.board.people.cancel(request.id)

        with pytest.raises(IllegalTransition, match="cancelled"):
            await house.board.people.redo(done.id)
        with pytest.raises(IllegalTransition, match="cancelled"):
            await house.board.people.revoke(done.id)


async def test_a_changed_result_does_not_wake_what_lies_below_something_cancelled(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        first = await house.add("first", complexity="simple")
        await finish(house, first, "one")
        new = NewTask(title="a request", kind=Kind.REQUEST, depends_on=(first.id,))
        request = await house.board.add(new)
        done, _ = await plan(house, request, part("1"), part("2"))
        await finish(house, done)
        await house.board.people.cancel(request.id)

        await redo(house, first, "another one")

        assert await status(house, done) is TaskStatus.COMPLETED
