"""The seed's stories of one task, and what the board refuses."""

from pathlib import Path

import pytest

from core.domain.reports import Work
from core.domain.task import Complexity, Phase, TaskStatus, Verdict
from core.errors import ClaimLost, IllegalTransition
from tests.support.board import ADA, BOB, CREW, EVE, open_house, some


async def test_critique_flow(tmp_path: Path) -> None:
    """A rejection leads to a fix of just what was named, by whoever did the work."""
    async with open_house(tmp_path) as house:
        task = await house.add(complexity=Complexity.NORMAL)
        await house.submit("first")

        rejected = await house.advise(passed=False)
        assert rejected.status is TaskStatus.CRITIQUE
        assert some(rejected.critique).suggestions == ("name the source",)
        assert await house.board.claim_critique(BOB) is None

        claim = some(await house.board.claim_critique(ADA))
        assert claim.phase is Phase.FIX
        assert claim.task.result == "first"

        done = await house.board.submit(claim, Work(result="second"))
        assert done.status is TaskStatus.COMPLETED
        assert done.verdict is Verdict.REVISED
        assert (await house.task(task)).result == "second"


async def test_simple_task_skip_review(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity=Complexity.SIMPLE)

        done = await house.submit()

        assert done.status is TaskStatus.COMPLETED
        assert await house.mailbox.receive(EVE) is None


async def test_critique_max_rounds(tmp_path: Path) -> None:
    """The last rejection allowed is forced: the result is kept and marked."""
    async with open_house(tmp_path) as house:
        await house.add(complexity=Complexity.COMPLEX, max_cycles=2)
        await house.submit("first")
        await house.advise(passed=False)
        await house.fix("second")

        forced = await house.advise(passed=False)

        assert forced.status is TaskStatus.COMPLETED
        assert forced.verdict is Verdict.MAX_CYCLES_REACHED
        assert forced.needs_attention
        assert forced.result == "second"


async def test_critique_passed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        await house.submit()

        passed = await house.advise(passed=True)

        assert passed.status is TaskStatus.COMPLETED
        assert passed.verdict is Verdict.APPROVED
        assert passed.completed_at is not None


async def test_recover_stale_critique(tmp_path: Path) -> None:
    """A critique nobody fixes while executors are idle is forced with the result it has."""
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("as it is")
        await house.advise(passed=False)

        for _ in range(31):
            await house.board.recover_stale_tasks(CREW)
            house.clock.jump(10)

        stale = await house.task(task)
        assert stale.status is TaskStatus.COMPLETED
        assert stale.verdict is Verdict.CHANGES_REQUESTED
        assert stale.needs_attention
        assert stale.result == "as it is"


async def test_submit_review_complete(tmp_path: Path) -> None:
    """Submitting for review and completing are submit's two outcomes, each where it is due."""
    async with open_house(tmp_path) as house:
        await house.add(complexity=Complexity.NORMAL)
        claim = await house.claim()
        with pytest.raises(IllegalTransition):
            await house.board.complete(claim, Work(result="x"))
        assert (await house.board.submit_for_review(claim, Work(result="x"))).status is (
            TaskStatus.REVIEW
        )
        with pytest.raises(ClaimLost):
            await house.board.complete(claim, Work(result="x"))

        await house.add(complexity=Complexity.SIMPLE)
        claim = await house.claim()
        with pytest.raises(IllegalTransition):
            await house.board.submit_for_review(claim, Work(result="x"))
        assert (await house.board.complete(claim, Work(result="x"))).status is (
            TaskStatus.COMPLETED
        )
