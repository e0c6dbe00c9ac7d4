"""A text too long for the model is found before the call and shortened in steps, never cut."""

from pathlib import Path
from typing import Any

from core.domain.task import COMPLETED
from tests.support.brain import Brain, planned, role_of
from tests.support.crew import at_work, by_title, failures_of
from tests.support.openai_server import Answer, refused

CONTEXT_TOKENS = 8192
LINE = "A line of the request that says one more thing about what is to be done.\n"


async def test_a_long_request_is_summarised_once_and_every_prompt_fits(tmp_path: Path) -> None:
    brain = Brain(
        plan=[planned("Part 1", "normal"), planned("Part 2")], answer=lambda prompt: "In short: do."
    )
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do all of this.\n" + LINE * 800)

        assert outcome.exit_code() == 0
        assert all(len(prompt.encode()) < CONTEXT_TOKENS * 3 for _, _, prompt in brain.asked)
        summaries = brain.prompts_of("summary")
        # A line that two pieces share is counted in neither.
        assert sum(prompt.count(LINE.strip()) for prompt in summaries) >= 760
        assert len(summaries) == len(set(summaries))
        assert "In short: do." in brain.prompts_of("work")[0]


async def test_a_text_nothing_can_shorten_is_not_sent_and_says_what_to_do(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("Part", description=LINE * 500), planned("Other")])
    async with at_work(tmp_path, brain) as swarm:
        outcome = await swarm.run("Do it")

        assert brain.prompts_of("work", "Part") == []
        part = await by_title(swarm, outcome.request, "Part")
        assert "name a model that reads more" in await failures_of(swarm, part.id)


async def test_a_server_that_reads_less_than_was_thought_is_believed(tmp_path: Path) -> None:
    long = "\n".join(f"fact {number}: {LINE}" for number in range(140))
    brain = Brain(
        plan=[planned("List"), planned("Use", "simple", "List"), planned("Aside")],
        work=lambda title, prompt: long if title == "List" else "Short.",
        answer=lambda prompt: "The facts, in short.",
    )

    def small(asked: dict[str, Any]) -> Answer | None:
        size = sum(len(str(one["content"])) for one in asked["messages"])
        if size > 3500 * 3 and role_of(str(asked["messages"][-1]["content"])) == "work":
            return refused(
                400,
                "This model's maximum context length is 4096 tokens.",
                code="context_length_exceeded",
            )
        return None

    async with at_work(tmp_path, brain, instead=small) as swarm:
        outcome = await swarm.run("Use the list")

        assert outcome.exit_code() == 0
        use = await by_title(swarm, outcome.request, "Use")
        assert (use.status, use.attempts) == (COMPLETED, 0)
        assert "The facts, in short." in brain.prompts_of("work", "Use")[-1]
