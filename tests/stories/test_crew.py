"""Whole requests: a real crew, a real SQLite file, a real HTTP server that plays the model."""

from pathlib import Path

import anyio

from core.domain.events import EventType
from core.domain.task import COMPLETED, FAILED, Reason, TaskStatus, Verdict
from tests.support.brain import Brain, planned, rejection
from tests.support.crew import at_work, by_title, happened


async def test_a_request_becomes_one_answer(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("List"), planned("Compare", "normal", "List")])
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Compare two caches")

        assert (outcome.answer, outcome.exit_code()) == ("The whole answer.", 0)
        assert brain.roles() == ["plan", "work", "work", "advice", "close_out"]
        assert (await swarm.board.replies.spent(outcome.request)).calls == 5


async def test_a_request_that_needs_no_team_costs_one_plan_and_one_piece_of_work(
    tmp_path: Path,
) -> None:
    brain = Brain(plan=[planned("Answer it")], work=lambda title, prompt: "Forty-two.")
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("What is six times seven?")

        assert outcome.answer == "Forty-two."
        assert brain.roles() == ["plan", "work"]


async def test_a_simple_task_skips_the_advisor(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("One"), planned("Two")])
    async with at_work(tmp_path, brain) as swarm:
        await swarm.run("Do both")

        assert "advice" not in brain.roles()


async def test_a_rejection_leads_to_a_targeted_fix_by_the_same_executor(tmp_path: Path) -> None:
    brain = Brain(
        plan=[planned("Report", "normal"), planned("Aside")],
        advise=lambda title, prompt: rejection("name a figure"),
        fix=lambda title, prompt: "With a figure: 7.\nSTATUS: COMPLETE\nMESSAGE: added a figure",
    )
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Report it")
        report = await by_title(swarm, outcome.request, "Report")

        assert (report.result, report.verdict) == ("With a figure: 7.", Verdict.REVISED)
        (fix,) = brain.prompts_of("fix")
        assert "1. name a figure" in fix
        assert "The result of Report." in fix
        claims = [
            event.data.agent  # type: ignore[attr-defined]
            for event in await happened(swarm, report.id, EventType.TASK_CLAIMED)
        ]
        assert len(claims) == 2
        assert claims[0] == claims[1]


async def test_complex_work_is_critiqued_up_to_the_limit(tmp_path: Path) -> None:
    seen: list[str] = []

    def advise(title: str, prompt: str) -> dict[str, object]:
        seen.append(prompt)
        return {"passed": len(seen) == 3, "suggestions": [f"fix number {len(seen)}"]}

    brain = Brain(plan=[planned("Audit", "complex"), planned("Aside")], advise=advise)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Audit it")
        audit = await by_title(swarm, outcome.request, "Audit")

        assert (audit.verdict, audit.critique_round) == (Verdict.APPROVED, 3)
        assert brain.roles().count("fix") == 2
        assert "fix number 1" in seen[1]


async def test_an_advisor_who_always_says_no_does_not_stop_the_request(tmp_path: Path) -> None:
    brain = Brain(
        plan=[planned("Audit", "complex"), planned("Aside")],
        advise=lambda title, prompt: rejection("still not good"),
    )
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Audit it")

        assert outcome.exit_code() == 0
        assert [one.title for one in outcome.needs_attention] == ["Audit"]
        assert outcome.answer is not None
        assert "Please look at this" in outcome.answer
        audit = await by_title(swarm, outcome.request, "Audit")
        assert (audit.status, audit.verdict) == (COMPLETED, Verdict.MAX_CYCLES_REACHED)


async def test_advice_that_can_not_be_read_goes_to_a_person(tmp_path: Path) -> None:
    brain = Brain(
        plan=[planned("Report", "normal")], advise=lambda title, prompt: "Looks great, ship it!"
    )
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Report it")

        assert outcome.exit_code() == 5
        assert [one.title for one in outcome.needs_you] == ["Report"]
        assert brain.roles().count("advice") == 2


async def test_a_failing_task_is_named_in_the_answer(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("Good"), planned("Bad")], work=_only_bad_fails)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do both")
        bad = await by_title(swarm, outcome.request, "Bad")

        assert (bad.status, bad.reason, bad.attempts) == (FAILED, Reason.ATTEMPTS, 3)
        assert outcome.answer is not None
        assert "- Bad: it failed several times: " in outcome.answer
        assert (outcome.exit_code(), outcome.exit_code(strict=True)) == (0, 1)


async def test_what_depends_on_a_failed_task_is_left_out_and_named(tmp_path: Path) -> None:
    plan = [planned("Good"), planned("Bad"), planned("After", "simple", "Bad")]
    async with at_work(tmp_path, Brain(plan=plan, work=_only_bad_fails)) as swarm:
        outcome = await swarm.run("Do all")
        after = await by_title(swarm, outcome.request, "After")

        assert (after.status, after.reason) == (TaskStatus.BLOCKED, Reason.DEPENDENCY)
        assert outcome.exit_code() == 0
        assert [one.title for one in outcome.failed] == ["Bad", "After"]


async def test_a_task_gets_the_results_it_depends_on(tmp_path: Path) -> None:
    plan = [planned("List"), planned("Compare", "simple", "List")]
    brain = Brain(plan=plan, work=lambda title, prompt: f"<{title}> done")
    async with at_work(tmp_path, brain) as swarm:
        await swarm.run("Compare")

        (prompt,) = brain.prompts_of("work", "Compare")
        assert '<result title="List">\n<List> done' in prompt


async def test_a_question_waits_for_a_person_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    def work(title: str, prompt: str) -> str:
        if "Berlin" in prompt:
            return "A map of Berlin."
        return "STATUS: NEEDS_HUMAN\nMESSAGE: Which city?"

    async with at_work(tmp_path, Brain(plan=[planned("Draw a map")], work=work)) as swarm:
        outcome = await swarm.run("Draw me a map")
        assert outcome.exit_code() == 5
        assert [one.why for one in outcome.needs_you] == ["Which city?"]

        await swarm.board.people.reopen(outcome.needs_you[0].task, "Berlin")
        await swarm.work()

        assert (await swarm.outcome(outcome.request)).answer == "A map of Berlin."


async def test_all_failed_is_a_failed_request(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("Bad")], work=_only_bad_fails)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do it")

        assert (outcome.status, outcome.exit_code()) == (FAILED, 1)
        assert "close_out" not in brain.roles()


async def test_a_retry_reopens_a_closed_request_and_writes_a_new_answer(tmp_path: Path) -> None:
    broken = True

    def work(title: str, prompt: str) -> str:
        return _only_bad_fails(title, prompt) if broken else f"{title} works."

    brain = Brain(plan=[planned("Good"), planned("Bad")], work=work)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do both")
        assert outcome.answer is not None
        assert "Not done" in outcome.answer
        broken = False

        await swarm.board.people.retry(outcome.failed[0].task)
        await swarm.work()

        again = await swarm.outcome(outcome.request)
        assert (again.answer, again.failed) == ("The whole answer.", ())
        assert brain.roles().count("plan") == 1


def _only_bad_fails(title: str, prompt: str) -> str:
    if title == "Bad":
        return "STATUS: ERROR\nMESSAGE: it does not work"
    return f"{title} is done."


async def test_a_cancel_in_the_middle_stops_the_call_that_runs(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("Slow"), planned("Quick")])
    async with at_work(tmp_path, brain, never="Slow") as swarm:
        request = await swarm.add("Do both")

        async def cancel_it() -> None:
            async for event in swarm.events(follow=True):
                if event.type is EventType.TASK_SETTLED:
                    await swarm.board.people.cancel(request.id)
                    return

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_it)
                await swarm.work(frozenset({request.id}))

        slow = await by_title(swarm, request.id, "Slow")
        assert slow.status is TaskStatus.CANCELLED
        assert (await by_title(swarm, request.id, "Quick")).status is COMPLETED
        assert (await swarm.outcome(request.id)).exit_code() == 1
