"""People: what a person decides about finished, failed and blocked work."""

from pathlib import Path

import pytest

from core.domain.feedback import Decision, Feedback, RedoOption
from core.domain.reports import Work
from core.domain.task import Phase, Reason, Signal, Task, TaskStatus
from core.errors import IllegalTransition
from tests.support.board import ADA, BATCH, PAT, House, open_house, some
from tests.support.stories import claimed, fail, finish, status
from tests.support.tasks import part


async def to_be_looked_at(house: House, result: str = "as it is") -> Task:
    task = await house.add(complexity="simple")
    return await finish(house, task, result)


async def history(house: House, task: Task) -> list[Feedback]:
    async with house.store.read() as reader:
        return await reader.feedback(task.id)


async def test_approved_work_is_completed(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await to_be_looked_at(house)

        done = await house.board.people.approve(task.id, "good")

        assert (done.status, done.reason, done.result) == (TaskStatus.COMPLETED, None, "as it is")
        assert not done.auto_approved
        with pytest.raises(IllegalTransition, match="nothing to approve"):
            await house.board.people.approve(task.id)


async def test_whoever_submitted_takes_the_next_task_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        await to_be_looked_at(house)
        second = await house.add()

        assert (await house.claim()).task_id == second.id


async def test_approving_what_needs_attention_only_takes_note_of_it(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(complexity="complex", max_cycles=1)
        await house.submit("as it is")
        forced = await house.advise(passed=False)
        assert forced.needs_attention

        noted = await house.board.people.approve(task.id)

        assert (noted.status, noted.needs_attention) == (TaskStatus.COMPLETED, False)
        assert noted.completed_at == forced.completed_at


@pytest.mark.parametrize("step", ["revoke", "redo"])
async def test_what_is_looked_at_or_done_again_needs_attention_no_more(
    step: str, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(complexity="complex", max_cycles=1)
        await house.submit()
        assert (await house.advise(passed=False)).needs_attention

        after = await getattr(house.board.people, step)(task.id)

        assert not after.needs_attention


async def test_rejected_work_rests_until_it_is_reopened_for_a_new_round(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await to_be_looked_at(house)

        rejected = await house.board.people.reject(task.id, "not this way")
        assert (rejected.status, rejected.reason) == (TaskStatus.BLOCKED, Reason.REJECTED)
        assert await house.board.claim_next(ADA) is None

        again = await house.board.people.reopen(task.id)
        assert (again.status, again.round) == (TaskStatus.PENDING, 2)
        assert some((await house.claim()).task.feedback).text == "not this way"


async def test_the_words_of_a_reopening_stand_before_those_of_the_rejection(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await to_be_looked_at(house)
        await house.board.people.reject(task.id, "not this way")

        again = await house.board.people.reopen(task.id, "with a table")

        assert some(again.feedback).text == "with a table"


async def test_an_approval_nobody_gave_can_be_revoked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await to_be_looked_at(house)

        revoked = await house.board.people.revoke(task.id)

        assert (revoked.status, revoked.reason) == (TaskStatus.HUMAN_REVIEW, Reason.REVOKED)
        done = await house.board.people.approve(task.id)
        assert done.status is TaskStatus.COMPLETED
        with pytest.raises(IllegalTransition, match="a person approved it"):
            await house.board.people.revoke(task.id)


async def test_a_request_is_not_revoked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (child,) = await house.planned(part("1"))
        await finish(house, child)
        await house.close_out()

        with pytest.raises(IllegalTransition):
            await house.board.people.revoke(request.id)


async def test_deferred_work_is_left_alone_and_comes_back_as_it_was(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()

        await house.board.people.defer(task.id)
        assert await house.board.claim_next(ADA) is None

        assert (await house.board.people.reopen(task.id)).status is TaskStatus.PENDING
        assert (await house.claim()).task_id == task.id


async def test_a_deferred_review_comes_back_as_a_review(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await to_be_looked_at(house)
        await house.board.people.defer(task.id)

        back = await house.board.people.reopen(task.id)

        assert (back.status, back.reason, back.round) == (
            TaskStatus.HUMAN_REVIEW,
            Reason.POLICY,
            1,
        )


async def test_an_answer_leads_back_to_the_work(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.board.let_go(await house.claim(), "it broke")
        asked = await house.board.signal(await house.claim(), Signal.NEEDS_HUMAN, "which one?")
        assert (asked.reason, asked.message) == (Reason.NEEDS_HUMAN, "which one?")

        back = await house.board.people.reopen(task.id, "the second")

        assert (back.status, back.attempts, back.round) == (TaskStatus.PENDING, 0, 1)
        assert some((await house.claim()).task.feedback).text == "the second"


async def test_an_answer_leads_back_to_the_fix(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("first")
        await house.advise(passed=False)
        claim = some(await house.board.claim_critique(ADA))
        await house.board.signal(claim, Signal.BLOCKED, "which source?")

        back = await house.board.people.reopen(task.id, "any")

        assert back.status is TaskStatus.CRITIQUE
        assert (await house.fix("second")).status is TaskStatus.COMPLETED


async def test_an_answer_leads_back_to_the_plan_and_to_the_close_out(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request = await house.board.add_request("a request")
        await house.board.signal(await claimed(house, request), Signal.BLOCKED, "how deep?")
        assert (await house.board.people.reopen(request.id, "two")).status is TaskStatus.PENDING
        claim = await claimed(house, request)
        assert some(claim.task.feedback).text == "two"
        (child,) = await house.board.decompose(claim, [part("1")])
        await finish(house, child)

        closing = some(await house.board.claim_close_out(PAT))
        await house.board.signal(closing, Signal.NEEDS_HUMAN, "how long?")
        back = await house.board.people.reopen(request.id, "short")

        assert (back.status, back.claimable) == (TaskStatus.WAITING, Phase.CLOSE_OUT)


async def test_complete_is_no_question(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        claim = await house.claim()

        for kind in (Signal.COMPLETE, Signal.ERROR):
            with pytest.raises(IllegalTransition, match="no question"):
                await house.board.signal(claim, kind, "?")


async def test_a_lost_dependency_is_not_reopened_by_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1"))
        await fail(house, first)

        for step in (house.board.people.reopen, house.board.people.retry):
            with pytest.raises(IllegalTransition):
                await step(second.id)


async def test_a_retry_leads_back_to_where_the_claim_came_from(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("first")
        await house.advise(passed=False)
        await house.board.fail(some(await house.board.claim_critique(ADA)), "no")

        back = await house.board.people.retry(task.id)

        assert (back.status, back.attempts, back.reason) == (TaskStatus.CRITIQUE, 0, None)
        assert (await house.fix("second")).status is TaskStatus.COMPLETED


async def test_going_on_without_a_task_frees_its_request(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2"))
        await house.board.signal(await claimed(house, first), Signal.BLOCKED, "which one?")
        await finish(house, second)
        assert await house.board.claim_close_out(PAT) is None

        await house.board.people.cancel(first.id)

        assert (await house.close_out()).status is TaskStatus.COMPLETED


async def test_every_decision_is_kept_in_the_order_it_was_made(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        task = await to_be_looked_at(house)
        await house.board.people.reject(task.id, "not this way")
        await house.board.people.reopen(task.id, "with a table")
        await house.board.signal(await house.claim(), Signal.BLOCKED, "which table?")
        await house.board.people.reopen(task.id, "the small one")
        await finish(house, task, "with a table")
        await house.board.people.redo(
            task.id,
            "shorter",
            quick_issues=("Tests incomplete",),
            option=RedoOption.FRESH,
            hint="later",
        )
        await finish(house, task, "with a short table")
        await house.board.people.approve(task.id, "good")

        kept = await history(house, task)

        assert [(one.decision, one.text, one.iteration) for one in kept] == [
            (Decision.REJECTED, "not this way", 1),
            (Decision.REOPENED, "with a table", 1),
            (Decision.ANSWERED, "the small one", 2),
            (Decision.REDO, "shorter", 3),
            (Decision.APPROVED, "good", 4),
        ]
        assert (kept[3].quick_issues, kept[3].option, kept[3].hint) == (
            ("Tests incomplete",),
            RedoOption.FRESH,
            "later",
        )


async def test_a_redo_with_a_hint_is_done_next_or_later(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        one, two = [await house.add(title, complexity="simple") for title in ("one", "two")]
        await finish(house, one)
        await finish(house, two)
        three = await house.add("three")
        await house.board.people.redo(one.id, hint="later")
        await house.board.people.redo(two.id, hint="next")

        order = [(await house.claim()).task_id for _ in range(3)]

        assert order == [two.id, three.id, one.id]


async def test_what_was_said_is_gone_from_the_task_once_it_is_done(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await to_be_looked_at(house)
        await house.board.people.redo(task.id, "shorter")
        claim = await house.claim()
        assert some(claim.task.feedback).text == "shorter"

        done = await house.board.submit(claim, Work(result="short"))

        assert done.feedback is None
        assert await status(house, task) is TaskStatus.COMPLETED
