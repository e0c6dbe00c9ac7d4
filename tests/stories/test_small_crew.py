"""The crew for small models, at work on a server that keeps to the shapes it is asked for."""

import json
from pathlib import Path
from typing import Any

import anyio

from core import Swarm
from core.crew import SMALL_FILE
from core.domain.events import CritiqueFact
from core.shipped import shipped
from tests.support.openai_server import Answer, OpenAIServer

TITLES = (
    "Before: contracts and notices",
    "Moving day: meters and keys",
    "After: desks and network",
)
POINTS = (
    "Read the meters at 8:00 and photograph them.",
    "Count the boxes when they arrive.",
    "Let the landlord sign for all keys.",
)


class SmallModel:
    """Repeats itself in one part until it is told to mend that."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        shape = body["response_format"]["json_schema"]["name"]
        prompt = body["messages"][-1]["content"]
        self.asked.append(shape)
        match shape:
            case "PartsReply":
                return _said(parts=[{"title": title, "form": "list"} for title in TITLES])
            case "VerdictReply":
                return _said(passed=True, suggestions=[])
        if TITLES[1] in prompt.split("Your part:")[1] and "mend:" not in prompt:
            looping = [f"Verify that the new office has {what}." for what in ("a", "b", "c")]
            return _said(points=looping)
        part = prompt.split("Your part: ")[1].partition("\n")[0]
        return _said(points=[f"{part[:6]} {point}" for point in POINTS])


def _said(**fields: object) -> Answer:
    return Answer(json.dumps(fields))


async def test_thin_work_is_sent_back_and_the_answer_has_a_section_for_each_part(
    tmp_path: Path,
) -> None:
    model = SmallModel()
    (tmp_path / ".swarm").mkdir()
    crew = (shipped("config") / SMALL_FILE).read_text()
    (tmp_path / ".swarm" / "agents.yaml").write_text(crew)

    with anyio.fail_after(30):
        async with OpenAIServer(model).running() as server:
            env = {"OPENAI_BASE_URL": server.url}
            async with Swarm.open(tmp_path, env=env) as swarm:
                outcome = await swarm.run("Write a checklist for moving to a new office")
                events = [event async for event in swarm.events()]

    critiques = [event.data.critique for event in events if isinstance(event.data, CritiqueFact)]
    (rejected,) = [one for one in critiques if not one.passed]
    assert "begin with 'verify that the new'" in rejected.suggestions[0]
    assert model.asked.count("VerdictReply") == len(TITLES) - 1
    headings = [line for line in (outcome.answer or "").splitlines() if line.startswith("## ")]
    assert headings == [f"## {title}" for title in TITLES]
    assert "Verify" not in (outcome.answer or "")
