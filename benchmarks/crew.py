"""The whole crew with a model in this process: against bare sqlite3, and against plain asyncio.

python -m benchmarks.crew 200 0      what a task costs, as a ratio of the bare store's writes
python -m benchmarks.crew 200 0.2    how much longer than its calls in a row a request takes
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import anyio

from benchmarks import measure
from benchmarks.measure import SCRATCH, like_the_command
from core import Swarm
from core.domain.task import Usage
from core.llm.client import Call, Reply
from core.llm.prompts import ADVICE_FORM, PLAN_FORM

USED = Usage(input_tokens=100, output_tokens=100)
RESULT = "r" * 200
LONGEST_WAY = ("plan", "work", "advice", "fix", "answer")
"""The calls that can't but follow one another, for the tasks that are sent back once."""
RUNS = {20: 7, 200: 7, 1000: 5}
WARM_UP_TASKS = 20


class Took(NamedTuple):
    cpu: float
    wall: float
    bare: float
    """Wall seconds of the same calls in plain asyncio."""
    calls: int


class Model:
    """Answers after a while: a quarter of the tasks is simple, a third of the others passes."""

    def __init__(self, tasks: int, latency_seconds: float) -> None:
        self.latency = latency_seconds
        self.advised = 0
        self.calls = 0
        self.plan = Reply(plan_of(tasks), "stub", USED)
        self.result = Reply(RESULT, "stub", USED)
        self.opinions = [
            Reply(json.dumps({"passed": passed, "suggestions": ["more"]}), "stub", USED)
            for passed in (False, True)
        ]

    async def ask(self, call: Call) -> Reply:
        self.calls += 1
        if self.latency:
            await anyio.sleep(self.latency)
        said = call.messages[-1].content
        if ADVICE_FORM in said:
            self.advised += 1
            return self.opinions[self.advised % 3 == 0]
        return self.plan if PLAN_FORM in said else self.result

    async def close(self) -> None: ...


def plan_of(tasks: int) -> str:
    levels = ("simple", "normal", "normal", "normal")
    planned = [
        {"key": f"t{number}", "title": f"task {number}", "complexity": levels[number % 4]}
        for number in range(tasks)
    ]
    return json.dumps({"tasks": planned})


async def crew(folder: Path, tasks: int, latency: float) -> tuple[float, float, int]:
    """CPU and wall seconds of a request with an agent for every task, and its calls."""
    (folder / ".swarm").mkdir()
    (folder / ".swarm" / "agents.yaml").write_text(
        "agents:\n  planner: {role: planner}\n"
        f"  executor: {{role: executor, count: {tasks}}}\n"
        f"  advisor: {{role: advisor, count: {tasks}}}\n"
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

    async def one(number: int) -> None:
        await asyncio.sleep(latency)
        if number % 4:
            await asyncio.sleep(latency)
            if number % 3:
                await asyncio.sleep(latency)

    began = time.perf_counter()
    await asyncio.sleep(latency)
    async with asyncio.TaskGroup() as group:
        for number in range(tasks):
            group.create_task(one(number))
    await asyncio.sleep(latency)
    return time.perf_counter() - began


def once(tasks: int, latency: float) -> Took:
    """In this process; what happens once in one (imports, schemas) is not the crew's speed."""
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        anyio.run(crew, Path(folder), WARM_UP_TASKS, 0.0)
    like_the_command()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        cpu, wall, calls = anyio.run(crew, Path(folder), tasks, latency)
    return Took(cpu, wall, asyncio.run(plain(tasks, latency)), calls)


def in_a_process(tasks: int, latency: float) -> Took:
    command = [sys.executable, "-m", "benchmarks.crew", str(tasks), str(latency), "once"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cpu, wall, bare, calls = done.stdout.split()
    return Took(float(cpu), float(wall), float(bare), int(calls))


def main(tasks: int, latency: float) -> None:
    """Medians of runs in turn."""
    runs: list[Took] = []
    floors: list[float] = []
    for _ in range(RUNS.get(tasks, 3)):
        floors.append(measure.once("floor", "NORMAL", tasks, 50).cpu_us)
        runs.append(in_a_process(tasks, latency))
    cpu = statistics.median(run.cpu for run in runs) / tasks * 1e6
    wall = statistics.median(run.wall for run in runs)
    floor = statistics.median(floors)
    line = f"{tasks:5} tasks, {latency * 1000:3.0f} ms a call: {runs[0].calls} calls, "
    line += f"{cpu:5.0f} us CPU a task, {cpu / floor:.2f} of the floor ({floor:.0f}); {wall:.2f} s"
    if latency:
        bare = statistics.median(run.bare for run in runs)
        path = latency * len(LONGEST_WAY)
        line += f", {wall / path:.2f} of the critical path ({path:.2f} s), bare {bare / path:.2f}"
    print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[3:] == ["once"]:
        print(*once(int(sys.argv[1]), float(sys.argv[2])))
    else:
        main(int(sys.argv[1]), float(sys.argv[2]))
