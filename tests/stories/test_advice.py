"""Advice: one opinion on one result, by somebody else, in a bounded number of cycles."""

from pathlib import Path

import pytest

from core.domain.agent import Role
from core.domain.critique import Advice, Critique, Opinion, advice
from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.message import MailStatus
from core.domain.rules import Rules
from core.domain.task import Reason, Task, TaskStatus, Verdict, hash_of
from core.errors import OwnWork
from tests.support.board import ADA, BOB, CREW, EVE, House, agent, open_house, some
from tests.support.stories import finish
from tests.support.tasks import changed, part

KIM = agent("kim", Role.ADVISOR)
SAM = agent("sam", Role.EXECUTOR, Role.ADVISOR)
PASSED = advice(passed=True)
REJECTED = advice(passed=False, suggestions=["name the source"])


async def critiques(house: House, task: Task) -> list[Critique]:
    async with house.store.read() as reader:
        return [critique for _, critique in await reader.critiques(task.id)]


async def mail_status(house: House, number: int) -> MailStatus:
    async with house.store.read() as reader:
        return (await reader.message(number)).status


# How many opinions


async def test_a_normal_task_has_one_critique_and_at_most_one_revision(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="normal")
        await house.submit("first")
        await house.advise(passed=False)

        revised = await house.fix("second")

        assert (revised.status, revised.verdict) == (TaskStatus.COMPLETED, Verdict.REVISED)
        assert revised.critique_round == 1
        assert await house.mailbox.receive(EVE) is None


@pytest.mark.parametrize(
    "fields", [{"complexity": "complex"}, {"complexity": "simple", "auto_review": True}]
)
async def test_a_complex_task_has_a_critique_after_each_revision_and_three_at_most(
    fields: dict[str, object], tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add("write it", **fields)
        await house.submit("first")
        for fixed in ("second", "third"):
            await house.advise(passed=False)
            await house.fix(fixed)

        forced = await house.advise(passed=False)

        assert (forced.status, forced.verdict) == (
            TaskStatus.COMPLETED,
            Verdict.MAX_CYCLES_REACHED,
        )
        assert (forced.result, forced.needs_attention) == ("third", True)
        assert [one.cycle for one in await critiques(house, task)] == [1, 2, 3]
        assert await house.board.claim_critique(ADA) is None


async def test_a_complex_task_passes_at_the_first_pass(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="complex")
        await house.submit("first")
        await house.advise(passed=False)
        await house.fix("second")

        passed = await house.advise(passed=True)

        assert (passed.status, passed.verdict) == (TaskStatus.COMPLETED, Verdict.APPROVED)
        assert not passed.needs_attention


async def test_one_cycle_means_no_revision(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="complex", max_cycles=1)
        await house.submit()

        forced = await house.advise(passed=False)

        assert forced.verdict is Verdict.MAX_CYCLES_REACHED


async def test_a_normal_task_has_its_revision_whatever_its_cycles(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="normal", max_cycles=1)
        await house.submit()

        rejected = await house.advise(passed=False)

        assert (rejected.status, rejected.verdict) == (TaskStatus.CRITIQUE, None)


async def test_where_advice_is_off_nobody_is_asked(tmp_path: Path) -> None:
    rules = Rules(review=ReviewRules(default_mode=ReviewMode.AUTO, advice=False))
    async with open_house(tmp_path, rules) as house:
        await house.add(complexity="complex")

        done = await house.submit()

        assert (done.status, done.verdict) == (TaskStatus.COMPLETED, None)


# What is said


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (advice(passed=False), Reason.UNREADABLE),
        (
            Advice(opinion=Opinion.NEEDS_DISCUSSION, comment="is it wanted?"),
            Reason.NEEDS_DISCUSSION,
        ),
    ],
)
async def test_what_can_not_be_acted_on_goes_to_a_person_at_once(
    said: Advice, reason: Reason, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="complex")
        await house.submit()

        asked = await house.board.add_critique(await house.mail(), said)

        assert (asked.status, asked.reason) == (TaskStatus.HUMAN_REVIEW, reason)
        assert (asked.verdict is Verdict.NEEDS_DISCUSSION) is (reason is Reason.NEEDS_DISCUSSION)


async def test_a_person_decides_after_advice_that_can_not_be_read(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("as it is")
        await house.board.add_critique(await house.mail(), advice(passed=False))

        done = await house.board.people.approve(task.id)

        assert (done.status, done.result) == (TaskStatus.COMPLETED, "as it is")


async def test_an_opinion_is_kept_with_what_it_is_about(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit("first")
        mail = await house.mail()

        await house.board.add_critique(mail, REJECTED)

        (kept,) = await critiques(house, task)
        assert (kept.reviewer, kept.opinion, kept.suggestions) == (
            "eve",
            Opinion.REJECTED,
            ("name the source",),
        )
        assert (kept.result_hash, kept.cycle, kept.mail) == (hash_of("first"), 1, mail.number)
        assert not kept.late


# Who says it


async def test_one_advisor_takes_the_mail_and_one_critique_counts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        await house.submit()

        await house.mail(EVE)

        assert await house.mailbox.receive(KIM) is None


async def test_nobody_advises_on_work_they_did(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        await house.submit(who=SAM)

        assert await house.mailbox.receive(SAM) is None
        mail = await house.mail(EVE)
        with pytest.raises(OwnWork):
            await house.board.add_critique(changed(mail, agent=SAM.name), PASSED)
        assert (await house.board.add_critique(mail, PASSED)).verdict is Verdict.APPROVED


async def test_whoever_fixed_it_does_not_advise_on_it_either(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="complex")
        await house.submit(who=ADA)
        await house.advise(passed=False)
        for _ in range(7):
            await house.board.recover_stale_tasks(CREW)
            house.clock.jump(10)

        await house.fix(who=SAM)

        assert await house.mailbox.receive(SAM) is None
        assert (await house.mail(KIM)).not_for == ("ada", "sam")


# Late opinions


async def test_an_opinion_is_late_when_another_advisor_took_the_mail(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        slow = await house.mail(EVE)
        house.clock.jump(61)
        await house.mailbox.recover()
        quick = await house.mail(KIM)

        unmoved = await house.board.add_critique(slow, REJECTED)

        assert unmoved.status is TaskStatus.REVIEW
        assert (await house.board.add_critique(quick, PASSED)).verdict is Verdict.APPROVED
        assert [(one.reviewer, one.late) for one in await critiques(house, task)] == [
            ("eve", True),
            ("kim", False),
        ]


async def test_an_opinion_given_twice_has_its_effect_once(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add(complexity="complex")
        await house.submit("first")
        mail = await house.mail()
        await house.board.add_critique(mail, REJECTED)

        again = await house.board.add_critique(mail, REJECTED)

        assert (again.status, again.critique_round) == (TaskStatus.CRITIQUE, 1)
        assert [one.late for one in await critiques(house, task)] == [False, True]


async def test_an_opinion_is_late_when_the_result_has_changed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (first, second) = await house.planned(part("1"), part("2", "1", complexity="normal"))
        await finish(house, first, "one")
        await finish(house, second, "two")
        old = await house.mail(EVE)
        await house.board.people.redo(first.id)
        await finish(house, first, "another one")
        await finish(house, second, "another two")

        unmoved = await house.board.add_critique(old, PASSED)

        assert (unmoved.status, unmoved.critique_round) == (TaskStatus.REVIEW, 0)
        (late,) = await critiques(house, second)
        assert (late.late, late.result_hash) == (True, hash_of("two"))
        assert (await house.advise(passed=True, who=KIM)).result == "another two"


async def test_an_opinion_is_late_when_the_review_was_left(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        await house.submit()
        mail = await house.mail()
        await house.board.people.cancel(task.id)

        unmoved = await house.board.add_critique(mail, PASSED)

        assert unmoved.status is TaskStatus.CANCELLED
        assert [one.late for one in await critiques(house, task)] == [True]
        assert "critique_came_late" in await house.told()


@pytest.mark.parametrize("taken", [False, True])
async def test_leaving_the_review_withdraws_its_mail(taken: bool, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        number = some((await house.submit()).review_mail)
        if taken:
            await house.mail()

        await house.board.people.cancel(task.id)

        assert await mail_status(house, number) is MailStatus.WITHDRAWN
        assert (await house.task(task)).review_mail is None


async def test_an_opinion_and_its_mail_end_together(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add()
        await house.submit()
        mail = await house.mail()

        await house.board.add_critique(mail, PASSED)

        assert await mail_status(house, mail.number) is MailStatus.ACKNOWLEDGED


async def test_advice_asked_for_again_is_asked_for_by_another_mail(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add(complexity="complex")
        first = some((await house.submit("first", who=BOB)).review_mail)
        await house.advise(passed=False)

        second = await house.fix("second", who=BOB)

        assert some(second.review_mail) > first
        assert (await house.mail()).cycle == 2
