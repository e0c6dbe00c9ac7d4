"""The whole crew with a model in this process, against the same calls in plain asyncio."""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import anyio

from benchmarks.measure import SCRATCH, like_the_command
from core import Swarm
from core.domain.task import Usage
from core.llm.client import Call, Reply
from core.llm.prompts import ADVICE_FORM, PLAN_FORM

USED = Usage(input_tokens=100, output_tokens=100)
RESULT = "r" * 200
CALLS_IN_A_ROW = 6
"""The longest way: plan, work, advice, fix, and at the end the answer; the plan comes first."""


class Model:
    """Answers after a while: a quarter of the tasks is simple, a third of the others passes."""

    def __init__(self, tasks: int, latency_seconds: float) -> None:
        self.tasks, self.latency = tasks, latency_seconds
        self.advised = 0
        self.calls = 0

    async def ask(self, call: Call) -> Reply:
        self.calls += 1
        if self.latency:
            await anyio.sleep(self.latency)
        said = call.messages[-1].content
        if PLAN_FORM in said:
            return Reply(self._plan(), "stub", USED)
        if ADVICE_FORM in said:
            self.advised += 1
            passed = self.advised % 3 == 0
            return Reply(json.dumps({"passed": passed, "suggestions": ["more"]}), "stub", USED)
        return Reply(RESULT, "stub", USED)

    def _plan(self) -> str:
        levels = ("simple", "normal", "normal", "normal")
        tasks = [
            {"key": f"t{number}", "title": f"task {number}", "complexity": levels[number % 4]}
            for number in range(self.tasks)
        ]
        return json.dumps({"tasks": tasks})

    async def close(self) -> None: ...


async def crew(folder: Path, tasks: int, latency: float, agents: int) -> tuple[float, float, int]:
    """CPU and wall seconds of one request of so many tasks, and its calls."""
    (folder / ".swarm").mkdir()
    (folder / ".swarm" / "agents.yaml").write_text(
        "agents:\n  planner: {role: planner}\n"
        f"  executor: {{role: executor, count: {agents}}}\n"
        f"  advisor: {{role: advisor, count: {agents}}}\n"
    )
    limits = {"plan_tasks": tasks + 1, "request_tasks": tasks + 1, "max_parallel": 10_000}
    limits |= {"context_tokens": 10_000_000, "request_bytes": 10_000_000}
    options: dict[str, object] = {f"limits.{name}": value for name, value in limits.items()}
    options["store.synchronous"] = "NORMAL"
    model = Model(tasks, latency)
    async with Swarm.open(folder, llm=model, options=options, env={}) as swarm:
        cpu, wall = time.process_time(), time.perf_counter()
        outcome = await swarm.run("Do all of it")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        assert outcome.exit_code() == 0, "the request ends well"
    return cpu, wall, model.calls


async def plain(tasks: int, latency: float) -> float:
    """Wall seconds of the same calls in the same order, with nothing around them."""
    model = Model(tasks, latency)

    async def one(number: int) -> None:
        await asyncio.sleep(latency)
        if number % 4:
            await asyncio.sleep(latency)
            if number % 3:
                await asyncio.sleep(latency)

    began = time.perf_counter()
    await asyncio.sleep(latency)
    json.loads(model._plan())
    async with asyncio.TaskGroup() as group:
        for number in range(tasks):
            group.create_task(one(number))
    await asyncio.sleep(latency)
    return time.perf_counter() - began


def main(tasks: int, latency: float) -> None:
    like_the_command()
    SCRATCH.mkdir(exist_ok=True)
    agents = min(200, tasks)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        cpu, wall, calls = anyio.run(crew, Path(folder), tasks, latency, agents)
    line = f"{tasks:5} tasks, {latency * 1000:3.0f} ms a call: {calls} calls, "
    line += f"{cpu / tasks * 1e6:5.0f} us CPU a task, {wall:.2f} s"
    if latency:
        bare, path = asyncio.run(plain(tasks, latency)), latency * (CALLS_IN_A_ROW - 1)
        line += f"; critical path {path:.2f} s: {wall / path:.2f} of it, bare {bare / path:.2f}"
    print(line)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
