"""Agents with servers of their own: an outage of one rests its agents and nobody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from core import Swarm
from core.domain.task import COMPLETED
from core.trust import trust
from tests.support.brain import Brain, planned
from tests.support.clock import HurriedClock
from tests.support.crew import the_books_are_right
from tests.support.openai_server import Answer, OpenAIServer, refused

PLAN = [planned(f"part {number}") for number in range(6)]
CREW = """
agents:
  planner: {{role: planner}}
  ada: {{role: executor, model: own, base_url: '{url}', {more}}}
  bob: {{role: executor}}
advice: off
"""


@asynccontextmanager
async def with_two(
    path: Path, own: Any, brain: Brain, more: str = "temperature: 1"
) -> AsyncIterator[tuple[Swarm, OpenAIServer]]:
    (path / ".swarm").mkdir()
    crew = OpenAIServer(lambda asked: Answer(brain(asked["messages"])))
    options = {"limits.lease_seconds": 36_000, "limits.heartbeat_seconds": 3_600}
    with anyio.fail_after(30):
        async with crew.running(), OpenAIServer(own, ("own",)).running() as other:
            (path / ".swarm" / "agents.yaml").write_text(CREW.format(url=other.url, more=more))
            trust(path)
            env = {"OPENAI_BASE_URL": crew.url, "OPENAI_API_KEY": "for-the-crew"}
            clock = HurriedClock(200)
            async with Swarm.open(path, options=options, env=env, clock=clock) as swarm:
                yield swarm, other
                await the_books_are_right(swarm, crew, other)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_an_outage_of_one_server_rests_its_agents_and_nobody_else(tmp_path: Path) -> None:
    said: list[str] = []
    down = refused(503, "down")
    async with with_two(tmp_path, lambda asked: down, Brain(plan=PLAN)) as (swarm, other):
        request = await swarm.add("Do it")
        await swarm.work(notice=said.append)

        tasks = (await swarm.board.family(request.id))[1:]
        assert {(task.status, task.attempts, task.executor) for task in tasks} == {
            (COMPLETED, 0, "bob")
        }
        assert any("503" in one and "work pauses" in one for one in said)
        assert {one["authorization"] for one in other.requests} == {None}


async def test_an_agent_asks_its_own_server_for_its_own_model(tmp_path: Path) -> None:
    brain = Brain(plan=PLAN)

    def own(asked: dict[str, Any]) -> Answer:
        return Answer(brain(asked["messages"]))

    async with with_two(tmp_path, own, brain) as (swarm, other):
        await swarm.run("Do it")

        assert {(one["model"], one["temperature"]) for one in other.requests} == {("own", 1)}


async def test_a_fallback_is_asked_where_a_model_fails(tmp_path: Path) -> None:
    brain = Brain(plan=PLAN)

    def own(asked: dict[str, Any]) -> Answer:
        if asked["model"] == "own":
            return refused(404, "no such model", code="model_not_found")
        return Answer(brain(asked["messages"]))

    more = "fallback_models: [second]"
    async with with_two(tmp_path, own, brain, more) as (swarm, other):
        outcome = await swarm.run("Do it")

        assert outcome.exit_code() == 0
        assert {one["model"] for one in other.requests} == {"own", "second"}


async def test_a_call_that_takes_longer_than_its_agent_allows_is_a_failed_attempt(
    tmp_path: Path,
) -> None:
    def own(asked: dict[str, Any]) -> Answer:
        return Answer("never", hang=True)

    async with with_two(tmp_path, own, Brain(plan=PLAN), "timeout_seconds: 0.05") as (swarm, _):
        outcome = await swarm.run("Do it")

        events = "".join([event.line() async for event in swarm.events()])
        assert outcome.exit_code() in (0, 1)
        assert "no whole reply within 0.05 s" in events
