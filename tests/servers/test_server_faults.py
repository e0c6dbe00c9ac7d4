"""Every fault of a model server in every phase: the request ends or pauses visibly, and no token
is lost or spent twice. One seeded placement each here; a hundred of each behind `faults`."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from core import Swarm
from core.domain.budget import Budget
from core.errors import ModelOutage, ModelRefused
from core.invariants import check
from tests.support.brain import Brain, planned, rejection, role_of
from tests.support.clock import HurriedClock
from tests.support.crew import the_books_are_right
from tests.support.openai_server import BROKEN_JSON, HTML, Answer, OpenAIServer, refused

PHASES = ("plan", "work", "advice", "fix", "close_out")
USAGE = {"prompt_tokens": 300, "completion_tokens": 50}
OPTIONS: dict[str, object] = {
    "limits.lease_seconds": 36_000,
    "limits.heartbeat_seconds": 3_600,
    "limits.task_timeout_minutes": 10_000,
    "limits.max_output_tokens": 500,
}
SHORT_SILENCE: dict[str, object] = {
    "limits.first_token_seconds": 0.5,
    "limits.silence_seconds": 0.5,
}
"""Only where silence is the fault: a busy machine is silent too, and its calls are counted."""
MOST_RUNS = 12

Fault = Callable[[str, Random], Answer]

OUTAGES: dict[str, Fault] = {
    "429 with Retry-After": lambda text, chance: refused(
        429, "slow down", headers={"Retry-After": str(chance.randint(0, 20))}
    ),
    "429 without Retry-After": lambda text, chance: refused(429, "slow down"),
    "500": lambda text, chance: refused(chance.choice([500, 502, 503, 529]), "broken"),
    "a timeout": lambda text, chance: Answer(text, hang=True),
    "silence in the middle": lambda text, chance: Answer(text, hang_after=2),
}
FAILURES: dict[str, Fault] = {
    "a cut stream": lambda text, chance: Answer(text, cut_after=chance.randint(1, 3)),
    "HTML with 200": lambda text, chance: HTML,
    "broken JSON with 200": lambda text, chance: BROKEN_JSON,
    "JSON that ignores the schema": lambda text, chance: Answer('{"ok": true}', usage=USAGE),
    "empty choices": lambda text, chance: Answer(choices=[], stream=chance.random() < 0.5),
    "a refusal": lambda text, chance: Answer("", refusal="I can't.", usage=USAGE),
    "a wrong finish_reason": lambda text, chance: Answer(
        text, finish=chance.choice(["length", "content_filter", "error"]), usage=USAGE
    ),
    "context overflow": lambda text, chance: refused(
        400, "maximum context length is 8192 tokens", code="context_length_exceeded"
    ),
}
FINAL: dict[str, Fault] = {
    "insufficient_quota": lambda text, chance: refused(
        429, "you exceeded your quota", code="insufficient_quota"
    )
}
SILENT = ("a timeout", "silence in the middle")
FAULTS = OUTAGES | FAILURES | FINAL


def advise(title: str, prompt: str) -> Any:
    return {"passed": True} if "mended" in prompt else rejection("mend it")


class FaultyServer:
    """Answers as the brain says, but for some calls of one phase."""

    def __init__(self, fault: str, phase: str, chance: Random) -> None:
        self.brain = Brain(
            plan=[planned("List"), planned("Audit", "complex", "List"), planned("Aside", "normal")],
            advise=advise,
            fix=lambda title, prompt: f"{title}, mended.",
        )
        self.fault, self.phase, self.chance = FAULTS[fault], phase, chance
        self.first = chance.randint(1, 2) if phase == "work" else 1
        self.left = chance.choice([1, 2, 3, 7])
        self.seen: Counter[str] = Counter()
        self.hit = False

    def __call__(self, asked: dict[str, Any]) -> Answer:
        prompt = "\n\n".join(str(one["content"]) for one in asked["messages"])
        role = role_of(prompt)
        self.seen[role] += 1
        text = self.brain(asked["messages"])
        if role == self.phase and self.seen[role] >= self.first and self.left > 0:
            self.left -= 1
            self.hit = True
            return self.fault(text, self.chance)
        return Answer(text, usage=USAGE)


async def play(path: Path, fault: str, phase: str, seed: int) -> None:
    chance = Random(f"{fault} {phase} {seed}")
    faulty = FaultyServer(fault, phase, chance)
    budget = Budget(tokens=chance.choice([4_000, 1_000_000]))
    said: list[str] = []
    with anyio.fail_after(60):
        async with OpenAIServer(faulty).running() as server:
            env = {"OPENAI_BASE_URL": server.url}
            clock = HurriedClock(400)
            options = OPTIONS | (SHORT_SILENCE if fault in SILENT else {})
            async with Swarm.open(path, options=options, env=env, clock=clock) as swarm:
                request = await swarm.add("Audit it", budget=budget)
                runs = await until_it_ends(swarm, said)

                outcome = await swarm.outcome(request.id)
                assert outcome.exit_code() is not None, "it neither ended nor waits for a person"
                assert not await swarm.board.busy()
                assert faulty.hit or outcome.partial, "the fault was never met"
                assert all(len(one.splitlines()) == 1 for one in said)
                assert not (fault in FINAL and runs == 1 and not outcome.partial), "it went unseen"
                family = await swarm.board.family(request.id)
                if fault in OUTAGES | FINAL:
                    assert max(task.attempts for task in family) == 0
                    assert outcome.failed == ()
                await the_books_are_right(swarm, server)
                assert sum(server.counted) <= (budget.tokens or 0)
                assert await check(swarm.store, swarm.rules) == []


async def until_it_ends(swarm: Swarm, said: list[str]) -> int:
    """As a person would: after an outage or a refusal, go on later."""
    for run in range(1, MOST_RUNS + 1):
        try:
            await swarm.work(notice=said.append)
            return run
        except (ModelOutage, ModelRefused) as error:
            said.append(str(error))
            # Later: a server that is left alone is left alone by this process for a minute.
            await swarm.store.clock.sleep(60)
    raise AssertionError(f"no end after {MOST_RUNS} runs")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_in_a_phase(tmp_path: Path, fault: str, phase: str) -> None:
    await play(tmp_path, fault, phase, 0)


@pytest.mark.faults
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_hundred_placements_of_a_fault(tmp_path: Path, fault: str) -> None:
    for seed in range(1, 101):
        folder = tmp_path / str(seed)
        folder.mkdir()
        phase = PHASES[seed % len(PHASES)]
        try:
            await play(folder, fault, phase, seed)
        except BaseException as error:
            error.add_note(f"{fault} in {phase}, seed {seed}")
            raise
