"""Two hundred agents and a server that takes ten calls at once and sixty a minute."""

import json
import time
from collections import deque
from pathlib import Path
from typing import Any

import anyio
import pytest

from core import Swarm
from core.domain.task import COMPLETED
from tests.support.brain import Brain, planned, title_of
from tests.support.clock import HurriedClock
from tests.support.crew import the_books_are_right
from tests.support.openai_server import Answer, OpenAIServer, refused

AT_ONCE, A_MINUTE = 10, 60
MINUTES_A_CALL = 0.12
LARGE, SMALL = 180, 10
CREW = (
    "agents:\n  planner: {role: planner}\n  executor: {role: executor, count: 200}\nadvice: off\n"
)


class FullServer:
    """Counts as strictly as it can: in any minute, and at any moment."""

    def __init__(self, minute: float) -> None:
        self.minute = minute
        """In seconds on the wall."""
        self.brain = Brain(plan=self._plan)
        self.server = OpenAIServer(self)
        self.begun: deque[float] = deque()
        self.accepted: list[tuple[float, str]] = []
        self.refusals = 0

    def __call__(self, asked: dict[str, Any]) -> Answer:
        now = time.monotonic()
        while self.begun and self.begun[0] <= now - self.minute:
            self.begun.popleft()
        if self.server.in_flight > AT_ONCE:
            self.refusals += 1
            return refused(429, "too many at once")
        if len(self.begun) >= A_MINUTE:
            self.refusals += 1
            wait = (self.begun[0] + self.minute - now) * 60 / self.minute
            return refused(429, "too many", headers={"Retry-After": f"{wait:.1f}"})
        self.begun.append(now)
        prompt = str(asked["messages"][-1]["content"])
        self.accepted.append((now, title_of(prompt)))
        return Answer(self.brain(asked["messages"]), delay_seconds=MINUTES_A_CALL * self.minute)

    def _plan(self, prompt: str) -> str:
        name, count = ("small", SMALL) if "Do little" in prompt else ("large", LARGE)
        return json.dumps({"tasks": [planned(f"{name} {number}") for number in range(count)]})


async def play(path: Path, minute: float) -> tuple[float, FullServer]:
    """How much of what the server allows was used, in the minutes that were full."""
    (path / ".swarm").mkdir()
    (path / ".swarm" / "agents.yaml").write_text(CREW)
    full = FullServer(minute)
    options = {"limits.plan_tasks": 300, "limits.request_tasks": 300, "limits.max_parallel": 200}
    options |= {"limits.lease_seconds": 36_000, "limits.heartbeat_seconds": 3_600}
    with anyio.fail_after(120):
        async with full.server.running() as server:
            env, clock = {"OPENAI_BASE_URL": server.url}, HurriedClock(60 / minute)
            async with Swarm.open(path, options=options, env=env, clock=clock) as swarm:
                requests = await swarm.add("Do much"), await swarm.add("Do little")
                await swarm.work()

                await the_books_are_right(swarm, server)
                for request in requests:
                    family = await swarm.board.family(request.id)
                    assert {task.status for task in family} == {COMPLETED}
                    assert max(task.attempts for task in family) == 0
    works = [at for at, title in full.accepted if title]
    minutes = int((works[-1] - works[0]) / minute)
    used = sum(at < works[0] + minutes * minute for at in works) / (minutes * A_MINUTE)
    return used, full


async def test_two_hundred_agents_make_no_storm_and_nobody_starves(tmp_path: Path) -> None:
    used, full = await play(tmp_path, minute=1.0)

    titles = [title for _, title in full.accepted if title]
    last_small = max(number for number, title in enumerate(titles) if title.startswith("small"))
    print(f"used {used:.2f}, refused {full.refusals} of {len(titles)}, small done at {last_small}")
    assert full.refusals <= len(titles) / 8
    assert last_small < len(titles) / 2


@pytest.mark.faults
async def test_two_hundred_agents_use_what_the_server_allows(tmp_path: Path) -> None:
    """With a minute so long that the speed of this machine does not matter."""
    used, full = await play(tmp_path, minute=8.0)

    print(f"used {used:.2f}, refused {full.refusals} of {len(full.accepted)}")
    assert used >= 0.9
    assert full.refusals <= len(full.accepted) / 10
