"""A crew killed in the middle of each phase goes on where it was, and pays for nothing twice."""

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process

from core import Swarm
from core.domain.task import COMPLETED
from core.invariants import check
from tests.support.brain import Brain, planned, rejection, role_of
from tests.support.engines import named_store
from tests.support.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.usefixtures("engine")

ROOT = Path(__file__).parents[2]
RESUME_SECONDS = 3.0
PHASES = ("plan", "work", "advice", "fix", "close_out")


def _advise(title: str, prompt: str) -> Mapping[str, Any]:
    if "mended" in prompt:
        return {"passed": True}
    return rejection("mend it")


def a_brain() -> Brain:
    return Brain(
        plan=[planned("List"), planned("Audit", "complex", "List")],
        advise=_advise,
        fix=lambda title, prompt: "Now mended.",
    )


class Model:
    """Falls silent at its first call of one kind, so that the kill comes in the middle of it."""

    def __init__(self, silent_at: str | None) -> None:
        self.brain = a_brain()
        self.silent_at = silent_at
        self.reached = anyio.Event()
        self.first_call_at: float | None = None

    def __call__(self, request: dict[str, Any]) -> Answer:
        if self.first_call_at is None:
            self.first_call_at = time.monotonic()
        said = "\n".join(str(one["content"]) for one in request["messages"])
        if role_of(said) == self.silent_at:
            self.silent_at = None
            self.reached.set()
            return Answer(hang=True)
        return Answer(self.brain(request["messages"]))


async def _start(server: OpenAIServer, project: Path, *words: str) -> Process:
    env = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-key"}
    env |= named_store(project)
    command = [sys.executable, "-m", "core", *words, "-C", str(project)]
    return await anyio.open_process(
        command, env=env, cwd=ROOT, stdin=None, stdout=None, stderr=None
    )


@pytest.mark.parametrize("phase", PHASES)
async def test_a_crew_killed_in_the_middle_of_a_phase_goes_on(tmp_path: Path, phase: str) -> None:
    model = Model(silent_at=phase)
    with anyio.fail_after(60):
        async with OpenAIServer(model).running() as server:
            killed = await _start(server, tmp_path, "run", "Audit it")
            await model.reached.wait()
            killed.send_signal(signal.SIGKILL)
            await killed.wait()
            model.first_call_at = None

            began = time.monotonic()
            again = await _start(server, tmp_path, "work")
            assert await again.wait() == 0

    assert model.first_call_at is not None
    assert model.first_call_at - began < 2 * RESUME_SECONDS
    # List, Audit, two critiques and a fix, the plan and the answer; the killed call had no reply.
    assert sorted(model.brain.roles()) == sorted(
        ["plan", "work", "work", "advice", "fix", "advice", "close_out"]
    )
    async with Swarm.open(tmp_path, env=named_store(tmp_path)) as swarm:
        assert await check(swarm.store, swarm.rules) == []
        roots = [one async for one in swarm.events() if one.type == "request_added"]
        assert (await swarm.board.get(roots[0].task)).status is COMPLETED
