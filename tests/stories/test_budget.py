"""A spent budget stops a request and what lies below it, and loses nothing."""

from pathlib import Path

import pytest

from core.domain.reports import Work
from core.domain.steps import Place, place_of
from core.domain.task import Phase, Task, TaskStatus
from core.errors import ClaimLost, IllegalTransition
from tests.support.board import ADA, CREW, EVE, PAT, House, open_house, some
from tests.support.stories import answers, claimed, close, finish, plan, status
from tests.support.tasks import milestone, part


async def spend(house: House, request: Task) -> Task:
    return await house.board.people.budget(request.id)


async def raise_budget(house: House, request: Task) -> Task:
    return await house.board.people.retry(request.id, budget_raised=True)


async def test_nothing_below_a_spent_budget_is_claimed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (half, _, done) = await house.planned(
            milestone("m"), part("1"), part("2", complexity="normal")
        )
        low = await plan(house, half, part("3", complexity="normal"))
        await finish(house, low[0])
        await house.advise(passed=False)

        await spend(house, request)

        assert await house.board.claim_next(ADA) is None
        assert await house.board.claim_next(PAT) is None
        assert await house.board.claim_critique(ADA) is None
        assert await status(house, done) is TaskStatus.PENDING


async def test_no_milestone_below_a_spent_budget_is_closed_out(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (half, _) = await house.planned(milestone("m"), part("1"))
        (low,) = await plan(house, half, part("2"))
        await finish(house, low)

        await spend(house, request)

        assert await house.board.claim_close_out(PAT) is None


async def test_mail_below_a_spent_budget_rests(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1", complexity="normal"))
        await finish(house, child)

        await spend(house, request)
        assert await house.mailbox.receive(EVE) is None

        await raise_budget(house, request)
        assert (await house.advise(passed=True)).id == child.id


async def test_other_requests_go_on(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        spent, _ = await house.planned(part("1"))
        _, (other,) = await house.planned(part("2", complexity="normal"))

        await spend(house, spent)

        await finish(house, other)
        assert (await house.advise(passed=True)).status is TaskStatus.COMPLETED


async def test_running_claims_may_hand_in(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        claim = await claimed(house, child)
        await spend(house, request)

        done = await house.board.submit(claim, Work(result="paid for"))

        assert (done.status, done.result) == (TaskStatus.COMPLETED, "paid for")
        assert place_of(await house.task(request)) is Place.BLOCKED_BUDGET


async def test_letting_go_below_a_spent_budget_is_no_attempt(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (first, second) = await house.planned(part("1"), part("2"))
        claim = await claimed(house, first)
        await claimed(house, second)
        await spend(house, request)

        await house.board.let_go(claim, "no money for another call")
        house.clock.jump(60)
        await house.board.recover_stale_tasks()

        for task in (first, second):
            back = await house.task(task)
            assert (back.status, back.attempts) == (TaskStatus.PENDING, 0)


@pytest.mark.parametrize("attempts", [0, 2])
async def test_a_raised_budget_leads_back_to_where_the_request_was(
    attempts: int, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house:
        request = await house.board.add_request("a request")
        for _ in range(attempts):
            await house.board.let_go(await claimed(house, request), "it broke")
        claim = await claimed(house, request)

        stopped = await spend(house, request)
        assert stopped.came_from is TaskStatus.PENDING
        with pytest.raises(ClaimLost):
            await house.board.decompose(claim, [part("1")])

        back = await raise_budget(house, request)
        assert (back.status, back.claimable) == (TaskStatus.PENDING, Phase.PLAN)


async def test_a_stopped_close_out_is_closed_out_later(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child)
        some(await house.board.claim_close_out(PAT))
        await spend(house, request)
        assert await house.board.claim_close_out(PAT) is None

        await raise_budget(house, request)

        assert (await close(house, request)).status is TaskStatus.COMPLETED


async def test_a_retry_is_refused_until_the_budget_is_raised(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, _ = await house.planned(part("1"))
        await spend(house, request)

        with pytest.raises(IllegalTransition, match="raise its budget first"):
            await house.board.people.retry(request.id)
        with pytest.raises(IllegalTransition):
            await house.board.people.reopen(request.id)

        assert (await raise_budget(house, request)).status is TaskStatus.WAITING


async def test_there_is_one_partial_answer_per_stop_and_it_is_marked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await spend(house, request)

        stopped = await house.board.people.partial_answer(request.id, "half of it")
        assert place_of(stopped) is Place.BLOCKED_BUDGET
        with pytest.raises(IllegalTransition, match="partial answer already"):
            await house.board.people.partial_answer(request.id, "another half")

        await raise_budget(house, request)
        await spend(house, request)
        await house.board.people.partial_answer(request.id, "most of it")
        await raise_budget(house, request)
        await finish(house, child)
        done = await close(house, request, "all of it")

        assert done.result == "all of it"
        assert [(one.version, one.text, one.partial) for one in await answers(house, request)] == [
            (1, "half of it", True),
            (2, "most of it", True),
        ]


async def test_only_a_request_has_a_budget(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()

        with pytest.raises(IllegalTransition, match="only a request"):
            await house.board.people.budget(task.id)


async def test_a_stopped_request_can_be_cancelled(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await spend(house, request)

        await house.board.people.cancel(request.id)

        assert await status(house, request) is TaskStatus.CANCELLED
        assert await status(house, child) is TaskStatus.CANCELLED


async def test_the_clock_of_a_critique_rests_while_the_budget_is_spent(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1", complexity="normal"))
        await finish(house, child)
        await house.advise(passed=False)
        await spend(house, request)

        for _ in range(100):
            await house.board.recover_stale_tasks(CREW)
            house.clock.jump(10)

        waited = await house.task(child)
        assert (waited.status, waited.waited_idle_seconds) == (TaskStatus.CRITIQUE, 0)
