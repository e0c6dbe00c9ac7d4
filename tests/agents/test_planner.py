import json
from pathlib import Path

from core.domain.task import COMPLETED, Kind
from tests.support.brain import Brain, planned
from tests.support.crew import at_work, by_title


async def test_a_plan_with_a_circle_goes_back_once_with_the_complaint(tmp_path: Path) -> None:
    circle = json.dumps({"tasks": [planned("A", "simple", "B"), planned("B", "simple", "A")]})
    good = json.dumps({"tasks": [planned("A"), planned("B", "simple", "A")]})
    brain = Brain(plan=lambda prompt: good if "in a circle" in prompt else circle)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do it")

        assert brain.roles()[:2] == ["plan", "plan"]
        a, b = [await by_title(swarm, outcome.request, title) for title in "AB"]
        assert (a.depends_on, b.depends_on) == ((), (a.id,))


async def test_a_plan_that_stays_wrong_is_mended(tmp_path: Path) -> None:
    wrong = [planned("A", "simple", "A", "nowhere"), planned("B", "simple", "A")]
    brain = Brain(plan=wrong)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do it")

        assert brain.roles().count("plan") == 2
        a, b = [await by_title(swarm, outcome.request, title) for title in "AB"]
        assert (a.depends_on, b.depends_on) == ((), (a.id,))
        assert outcome.exit_code() == 0


async def test_a_planner_that_can_not_plan_leaves_the_request_as_one_task(tmp_path: Path) -> None:
    brain = Brain(plan=lambda prompt: "I would rather not.")
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Say hello\nin a friendly way")

        _, child = await swarm.board.family(outcome.request)
        assert child.title == "Say hello"
        assert child.description == "Say hello\nin a friendly way"
        assert outcome.exit_code() == 0


async def test_a_plan_readable_at_first_is_not_lost_to_a_worse_second_try(tmp_path: Path) -> None:
    first = json.dumps({"tasks": [planned("A", "simple", "nowhere")]})
    brain = Brain(plan=lambda prompt: "never mind" if "can't be used" in prompt else first)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do it")

        assert (await by_title(swarm, outcome.request, "A")).status is COMPLETED


async def test_a_milestone_is_planned_by_itself_and_closes_with_a_summary(tmp_path: Path) -> None:
    def plan(prompt: str) -> str:
        if "<milestone>" in prompt:
            return json.dumps({"tasks": [planned("Dig"), planned("Pour")]})
        tasks = [planned("Base", kind="milestone"), planned("Roof", "simple", "Base")]
        return json.dumps({"tasks": tasks})

    brain = Brain(plan=plan)
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Build a house")
        base = await by_title(swarm, outcome.request, "Base")

        assert (base.kind, base.status, base.result) == (
            Kind.MILESTONE,
            COMPLETED,
            "The whole answer.",
        )
        assert brain.roles().count("close_out") == 2
        (roof,) = brain.prompts_of("work", "Roof")
        assert '<result title="Base">\nThe whole answer.' in roof


async def test_results_too_long_for_the_model_are_summarised_in_steps(tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        assert len(prompt.encode()) // 3 <= 600, "a prompt does not fit the model"
        return "in short" if "Shorten this material" in prompt else "The whole answer."

    brain = Brain(
        plan=[planned("One"), planned("Two"), planned("Three")],
        work=lambda title, prompt: f"{title} " + "word " * 900,
        answer=answer,
    )
    options = {"limits.context_tokens": 800, "limits.max_output_tokens": 200}
    _without_skills(tmp_path)
    async with at_work(tmp_path, brain, options=options) as swarm:
        outcome = await swarm.run("Sum it up")

        assert outcome.answer == "The whole answer."
        assert brain.roles().count("summary") >= 3
        (last,) = brain.prompts_of("close_out")
        assert "in short" in last


async def test_feedback_on_an_answer_has_only_the_answer_written_again(tmp_path: Path) -> None:
    brain = Brain(
        plan=[planned("One"), planned("Two")],
        answer=lambda prompt: "Short." if "shorter" in prompt else "A long answer.",
    )
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Tell me")
        await swarm.board.people.redo(outcome.request, "shorter please")
        await swarm.work()

        again = await swarm.outcome(outcome.request)
        assert again.answer == "Short."
        assert brain.roles().count("work") == 2


def _without_skills(project: Path) -> None:
    """Skills are long for so small a model."""
    (project / ".swarm").mkdir()
    (project / ".swarm" / "agents.yaml").write_text(
        "agents: {planner: {role: planner}, executor: {role: executor}, advisor: {role: advisor}}"
    )
