"""A review that nobody can answer goes to a person."""

from pathlib import Path

from core.domain.agent import Crew, Role
from core.domain.message import MailStatus
from core.domain.task import Reason, TaskStatus
from core.flows.recovery import recover
from tests.support.board import ADA, CREW, EVE, PAT, House, agent, open_house, some
from tests.support.stories import status

ALONE = Crew(agents=(PAT, ADA), idle=frozenset({ADA.name}))
"""A crew in which nobody advises."""
NOBODY = Crew()


async def watch(house: House, crew: Crew, seconds: int, every: int = 10) -> None:
    """Look after the board for this long, and once more at the end."""
    for _ in range(seconds // every):
        await house.board.recover_stale_tasks(crew)
        house.clock.jump(every)
    await house.board.recover_stale_tasks(crew)


async def test_a_dead_letter_sends_its_review_to_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        for _ in range(4):
            await house.mailbox.give_back(await house.mail())
        assert await house.board.recover_stale_tasks(CREW) == []

        await house.mailbox.give_back(await house.mail())
        await house.board.recover_stale_tasks(CREW)

        asked = await house.task(task)
        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.NO_ADVICE)
        (dead,) = await house.mailbox.dead_letters()
        assert (dead.task, dead.status, dead.tries) == (task.id, MailStatus.DEAD, 5)


async def test_a_letter_that_dies_in_silence_needs_one_sweep(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        for _ in range(5):
            await house.mail()
            house.clock.jump(61)
            await recover(house.board, house.mailbox, CREW)

        assert await status(house, task) is TaskStatus.HUMAN_REVIEW


async def test_a_stop_never_kills_a_letter(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        for _ in range(10):
            await house.mailbox.give_back(await house.mail(), counted=False)

        await house.board.recover_stale_tasks(CREW)

        assert await status(house, task) is TaskStatus.REVIEW
        assert (await house.advise(passed=True)).status is TaskStatus.COMPLETED


async def test_after_300_seconds_without_anybody_who_may_advise_a_person_looks(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        number = some((await house.submit()).review_mail)

        await watch(house, ALONE, 290)
        assert await status(house, task) is TaskStatus.REVIEW

        await watch(house, ALONE, 10)

        asked = await house.task(task)
        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.NO_ADVICE)
        async with house.store.read() as reader:
            assert (await reader.message(number)).status is MailStatus.WITHDRAWN


async def test_an_advisor_who_is_busy_is_waited_for(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()

        await watch(house, CREW, 3600)

        assert await status(house, task) is TaskStatus.REVIEW


async def test_an_advisor_who_did_the_work_does_not_count(tmp_path: Path) -> None:
    sam = agent("sam", Role.EXECUTOR, Role.ADVISOR)
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit(who=sam)

        await watch(house, Crew(agents=(PAT, ADA, sam)), 300)

        assert await status(house, task) is TaskStatus.HUMAN_REVIEW


async def test_the_clock_rests_while_no_crew_runs(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        await watch(house, ALONE, 200)

        house.clock.jump(8 * 3600)
        await watch(house, NOBODY, 600)
        await watch(house, ALONE, 90)
        assert await status(house, task) is TaskStatus.REVIEW

        await watch(house, ALONE, 10)
        assert await status(house, task) is TaskStatus.HUMAN_REVIEW


async def test_time_in_which_somebody_could_have_advised_does_not_count(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()

        for _ in range(20):
            await house.board.recover_stale_tasks(ALONE)
            for _ in range(5):
                house.clock.jump(10)
                await house.board.recover_stale_tasks(CREW)

        assert await status(house, task) is TaskStatus.REVIEW


async def test_advice_that_comes_in_time_ends_the_waiting(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="complex")
        await house.submit()
        await watch(house, ALONE, 250)
        await house.advise(passed=False, who=EVE)

        fixed = await house.fix()
        await watch(house, ALONE, 100)

        assert await status(house, fixed) is TaskStatus.REVIEW
