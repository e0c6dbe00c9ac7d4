"""Two hundred agents and a server that takes ten calls at once and sixty a minute."""

import json
import time
from collections import deque
from pathlib import Path
from typing import Any

import anyio

from core import Swarm
from core.domain.task import COMPLETED
from tests.support.brain import Brain, planned, title_of
from tests.support.clock import HurriedClock
from tests.support.openai_server import Answer, OpenAIServer, refused

MINUTE = 2.0
"""Of the server, in seconds on the wall."""
AT_ONCE, A_MINUTE = 10, 60
SECONDS_A_CALL = 0.24
LARGE, SMALL = 180, 10
CREW = (
    "agents:\n  planner: {role: planner}\n  executor: {role: executor, count: 200}\nadvice: off\n"
)


class FullServer:
    """Counts as strictly as it can: in any minute, and at any moment."""

    def __init__(self) -> None:
        self.brain = Brain(plan=self._plan)
        self.server = OpenAIServer(self)
        self.begun: deque[float] = deque()
        self.accepted: list[tuple[float, str]] = []
        self.refusals = 0

    def __call__(self, asked: dict[str, Any]) -> Answer:
        now = time.monotonic()
        while self.begun and self.begun[0] <= now - MINUTE:
            self.begun.popleft()
        if self.server.in_flight > AT_ONCE:
            self.refusals += 1
            return refused(429, "too many at once")
        if len(self.begun) >= A_MINUTE:
            self.refusals += 1
            wait = (self.begun[0] + MINUTE - now) * 60 / MINUTE
            return refused(429, "too many", headers={"Retry-After": f"{wait:.1f}"})
        self.begun.append(now)
        prompt = str(asked["messages"][-1]["content"])
        self.accepted.append((now, title_of(prompt)))
        return Answer(self.brain(asked["messages"]), delay_seconds=SECONDS_A_CALL)

    def _plan(self, prompt: str) -> str:
        name, count = ("small", SMALL) if "Do little" in prompt else ("large", LARGE)
        return json.dumps({"tasks": [planned(f"{name} {number}") for number in range(count)]})


async def test_what_a_full_server_allows_is_used_without_a_storm_and_nobody_starves(
    tmp_path: Path,
) -> None:
    (tmp_path / ".swarm").mkdir()
    (tmp_path / ".swarm" / "agents.yaml").write_text(CREW)
    full = FullServer()
    options = {"limits.plan_tasks": 300, "limits.request_tasks": 300, "limits.max_parallel": 200}
    options |= {"limits.lease_seconds": 36_000, "limits.heartbeat_seconds": 3_600}
    with anyio.fail_after(60):
        async with full.server.running() as server:
            env = {"OPENAI_BASE_URL": server.url}
            async with Swarm.open(
                tmp_path, options=options, env=env, clock=HurriedClock(60 / MINUTE)
            ) as swarm:
                large, small = await swarm.add("Do much"), await swarm.add("Do little")
                await swarm.work()

                for request in (large, small):
                    family = await swarm.board.family(request.id)
                    assert {task.status for task in family} == {COMPLETED}
                    assert max(task.attempts for task in family) == 0

    works = [at for at, title in full.accepted if title]
    minutes = int((works[-1] - works[0]) / MINUTE)
    used = sum(at < works[0] + minutes * MINUTE for at in works) / (minutes * A_MINUTE)
    titles = [title for _, title in full.accepted if title]
    last_small = max(number for number, title in enumerate(titles) if title.startswith("small"))
    print(f"used {used:.2f}, refused {full.refusals} of {len(works)}, small done at {last_small}")
    print([sum(n <= at - works[0] < n + 1 for at in works) for n in range(minutes + 1)])
    assert minutes >= 3
    assert used >= 0.9
    assert full.refusals <= len(works) / 10
    assert last_small < len(titles) / 2
