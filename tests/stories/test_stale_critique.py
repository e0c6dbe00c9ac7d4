"""A critique waits for its own executor, then for any, and is forced in the end."""

from pathlib import Path

import pytest

from core.domain.agent import Crew
from core.domain.rules import Rules
from core.domain.task import Reason, Task, TaskStatus, Verdict
from tests.support.board import ADA, AUTO, BATCH, BOB, CREW, House, open_house, some
from tests.support.stories import finish, status

BUSY = Crew(agents=CREW.agents)
"""Everybody of the crew has something to do."""
NOBODY = Crew()


async def criticised(house: House, **fields: object) -> Task:
    await house.add("write it", **fields)
    await house.submit("as it is")
    return await house.advise(passed=False)


async def watch(house: House, crew: Crew, seconds: int, every: int = 10) -> None:
    """Look after the board for this long, and once more at the end."""
    for _ in range(seconds // every):
        await house.board.recover_stale_tasks(crew)
        house.clock.jump(every)
    await house.board.recover_stale_tasks(crew)


async def test_for_60_seconds_only_its_own_executor_may_fix_it(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)

        await watch(house, CREW, 50)
        assert await house.board.claim_critique(BOB) is None

        await watch(house, CREW, 10)
        assert some(await house.board.claim_critique(BOB)).task_id == task.id


async def test_its_own_executor_may_fix_it_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)

        assert some(await house.board.claim_critique(ADA)).task_id == task.id


async def test_after_300_seconds_it_is_forced_with_the_result_it_has(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)

        await watch(house, CREW, 290)
        assert await status(house, task) is TaskStatus.CRITIQUE

        await watch(house, CREW, 10)

        forced = await house.task(task)
        assert (forced.status, forced.verdict) == (
            TaskStatus.COMPLETED,
            Verdict.CHANGES_REQUESTED,
        )
        assert (forced.result, forced.needs_attention) == ("as it is", True)


@pytest.mark.parametrize(("rules", "code"), [(BATCH, False), (AUTO, True)])
async def test_forced_code_and_what_a_person_reviews_goes_to_the_person(
    rules: Rules, code: bool, tmp_path: Path
) -> None:
    async with open_house(tmp_path, rules) as house:
        task = await criticised(house, code=code)

        await watch(house, CREW, 300)

        asked = await house.task(task)
        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.STALE)
        assert asked.verdict is Verdict.CHANGES_REQUESTED


async def test_a_night_off_forces_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)
        await watch(house, CREW, 200)

        house.clock.jump(8 * 3600)
        await watch(house, CREW, 90)

        assert await status(house, task) is TaskStatus.CRITIQUE


async def test_somebody_who_looks_without_a_crew_forces_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)

        await watch(house, NOBODY, 3600)

        assert (await house.task(task)).waited_idle_seconds == 0


async def test_a_busy_crew_forces_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)

        await watch(house, BUSY, 3600)

        assert await status(house, task) is TaskStatus.CRITIQUE
        assert await house.board.claim_critique(BOB) is None


async def test_a_crew_that_is_idle_now_and_then_is_not_idle_in_between(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)

        for _ in range(20):
            await house.board.recover_stale_tasks(CREW)
            for _ in range(5):
                house.clock.jump(10)
                await house.board.recover_stale_tasks(BUSY)

        assert await status(house, task) is TaskStatus.CRITIQUE


async def test_a_claim_starts_the_waiting_anew(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)
        await watch(house, CREW, 250)
        await house.board.let_go(some(await house.board.claim_critique(ADA)))

        await watch(house, CREW, 250)

        assert await status(house, task) is TaskStatus.CRITIQUE


async def test_every_critique_of_a_task_has_its_own_time(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house, complexity="complex")
        await watch(house, CREW, 250)
        await house.fix("second")
        await house.advise(passed=False)

        await watch(house, CREW, 50)

        assert await status(house, task) is TaskStatus.CRITIQUE
        assert await house.board.claim_critique(BOB) is None


async def test_fixed_by_another_it_is_waited_for_the_other_next(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house, complexity="complex")
        await watch(house, CREW, 60)
        await house.fix("second", who=BOB)
        await house.advise(passed=False)

        assert await house.board.claim_critique(ADA) is None
        assert some(await house.board.claim_critique(BOB)).task_id == task.id


async def test_a_forced_result_stops_nobody(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await criticised(house)
        after = await house.add("build on it", complexity="simple", depends_on=(task.id,))

        await watch(house, CREW, 300)

        assert (await finish(house, after)).status is TaskStatus.COMPLETED
