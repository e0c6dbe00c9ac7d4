"""Dependencies: who has to wait for whom, and what a lost one does."""

from pathlib import Path

import pytest

from core.domain.plan import NewTask
from core.domain.steps import Place, place_of
from core.domain.task import Kind, Phase, Signal, TaskStatus, hash_of
from core.errors import BadPlan
from tests.support.board import ADA, BATCH, BOB, MERGER, PAT, House, open_house, some
from tests.support.stories import claimed, close, fail, finish, plan, status
from tests.support.tasks import milestone, part


async def merge_next(house: House) -> None:
    await house.board.merged(some(await house.board.claim_merge(MERGER)))


async def test_a_task_is_ready_only_when_all_its_dependencies_are_completed(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        _, (one, _two, both) = await house.planned(part("1"), part("2"), part("3", "1", "2"))
        await finish(house, one)
        second = await house.claim()

        assert await house.board.claim_next(BOB) is None

        await house.board.let_go(second)
        await house.submit()
        claim = await house.claim()

        assert claim.task_id == both.id


async def test_work_that_waits_for_a_person_is_not_completed(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        _, (one, two) = await house.planned(part("1"), part("2", "1"))
        await finish(house, one)

        assert await house.board.claim_next(ADA) is None

        await house.board.people.approve(one.id)

        assert (await house.claim()).task_id == two.id


async def test_a_lost_dependency_blocks_all_that_rests_on_it_and_a_retry_brings_it_back(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        _, tasks = await house.planned(part("1"), part("2", "1"), part("3", "2"), part("4"))
        first, second, third, free = tasks

        await fail(house, first)

        places = [place_of(await house.task(one)) for one in (second, third, free)]
        assert places == [Place.BLOCKED_DEPENDENCY, Place.BLOCKED_DEPENDENCY, Place.PENDING]

        await house.board.people.retry(first.id)

        assert {await status(house, one) for one in tasks} == {TaskStatus.PENDING}
        await finish(house, first)
        assert (await house.claim()).task_id == second.id


async def test_a_cancelled_dependency_is_lost(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1"))

        await house.board.people.cancel(first.id)

        assert place_of(await house.task(second)) is Place.BLOCKED_DEPENDENCY


async def test_a_dependency_that_waits_for_a_person_is_not_lost(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1"))
        claim = await claimed(house, first)

        await house.board.signal(claim, Signal.BLOCKED, "which one?")

        assert await status(house, second) is TaskStatus.PENDING


async def test_a_task_comes_back_only_when_none_of_its_dependencies_is_lost(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        _, (one, two, both) = await house.planned(part("1"), part("2"), part("3", "1", "2"))
        await fail(house, one)
        await fail(house, two)

        await house.board.people.retry(one.id)
        assert place_of(await house.task(both)) is Place.BLOCKED_DEPENDENCY

        await house.board.people.retry(two.id)
        assert place_of(await house.task(both)) is Place.PENDING


async def test_a_milestones_dependencies_count_as_its_childrens(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, half) = await house.planned(part("1"), milestone("m", "1"))
        assert await house.board.claim_next(PAT) is None
        await finish(house, first, "one")
        (child,) = await plan(house, half, part("2"))
        await house.board.people.redo(first.id)

        claim = await house.claim()

        assert claim.task_id == first.id
        assert await house.board.claim_next(BOB) is None
        await house.board.let_go(claim)
        await finish(house, first, "another one")
        assert (await claimed(house, child)).task.inputs == {first.id: hash_of("another one")}


async def test_what_a_milestone_loses_its_children_lose(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, half) = await house.planned(part("1"), milestone("m", "1"))
        await finish(house, first, "one")
        (child,) = await plan(house, half, part("2"))
        await house.board.people.redo(first.id)

        await fail(house, first)

        assert place_of(await house.task(child)) is Place.BLOCKED_DEPENDENCY
        assert (await house.task(half)).claimable is Phase.CLOSE_OUT


async def test_code_waits_until_the_code_it_rests_on_is_merged(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(
            part("1", code=True, planner_tags=("review:auto",)), part("2", "1", code=True)
        )

        await finish(house, first)
        assert await house.board.claim_next(ADA) is None

        await merge_next(house)
        assert (await house.claim()).task_id == second.id


async def test_text_needs_no_merge_and_code_does(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        _, (first, text, code) = await house.planned(
            part("1", code=True), part("2", "1"), part("3", "1", code=True)
        )
        await finish(house, first)

        await house.board.people.close_unmerged(first.id)

        assert (await house.claim()).task_id == text.id
        assert place_of(await house.task(code)) is Place.BLOCKED_DEPENDENCY


async def test_a_root_may_depend_on_roots(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        before, (child,) = await house.planned(part("1"))
        after = await house.board.add(
            NewTask(title="then", kind=Kind.REQUEST, depends_on=(before.id,))
        )
        assert await house.board.claim_next(PAT) is None
        await finish(house, child)
        await close(house, before, "all of it")

        (later,) = await plan(house, after, part("2"))

        assert (await claimed(house, later)).task.inputs == {before.id: hash_of("all of it")}


async def test_a_root_whose_dependency_failed_is_blocked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        first = await house.add("first")
        second = await house.add("second", depends_on=(first.id,))

        await fail(house, first)

        assert place_of(await house.task(second)) is Place.BLOCKED_DEPENDENCY


async def test_a_root_added_after_its_dependency_was_lost_is_blocked_at_once(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        first = await house.add("first")
        await house.board.people.cancel(first.id)

        second = await house.add("second", depends_on=(first.id,))

        assert place_of(second) is Place.BLOCKED_DEPENDENCY


async def test_a_root_depends_on_whole_roots_that_are_there(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (child,) = await house.planned(part("1"))

        with pytest.raises(BadPlan, match="a part of a request"):
            await house.add("second", depends_on=(child.id,))
        with pytest.raises(BadPlan, match="not on the board"):
            await house.add("second", depends_on=("zzzz",))


async def test_a_plan_that_can_not_be_finished_is_refused_whole(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (other,) = await house.planned(part("1"))
        request = await house.board.add_request("another request")
        claim = await claimed(house, request)

        for bad in (
            [part("1", "2"), part("2", "1")],
            [part("1", request.id)],
            [part("1", other.id)],
            [part("1", "nowhere")],
            [part("1", "2"), part("2", kind=Kind.IDEA)],
            [part("2", kind=Kind.IDEA)],
            [],
        ):
            with pytest.raises(BadPlan):
                await house.board.decompose(claim, bad)

        assert place_of(await house.task(request)) is Place.CLAIMED_PLAN
        assert await house.board.collect_results(request.id) == []
        assert len(await house.board.decompose(claim, [part("1")])) == 1
