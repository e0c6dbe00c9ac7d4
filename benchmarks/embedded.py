"""What a model on this machine makes of the README's requests: by hand, it takes half an hour.

`python -m benchmarks.embedded OUT` writes one JSON file a run into the folder OUT, then the table;
runs that are there already are not made again.
"""

import argparse
import json
import os
import re
import tempfile
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import anyio

from core import Swarm
from core.clock import SystemClock
from core.crew import FILE, SMALL_FILE, load_crew
from core.domain.limits import Limits
from core.domain.soundness import same, sentences
from core.domain.task import Kind, Task
from core.llm.client import LLM, Call, Reply
from core.llm.embedded import load
from core.llm.small_replies import likeness
from core.local_models.choice import chosen
from core.shipped import shipped

REQUESTS = (
    "Write a checklist for opening a small web shop: legal pages, payment, delivery, first day",
    "Write a release checklist for version 2.0 of a Python library",
    "Write a Python script that counts the words in a text file, with a test and a short guide",
    "Write a checklist for reviewing a pull request that changes a database table",
    "Write a bash script that backs up a folder every night, and say how to restore it",
)
SEEDS = (1, 2, 3)
LONG_SENTENCE_WORDS = 4
FENCED, HEADINGS = re.compile(r"```.*?(?:```|\Z)", re.DOTALL), re.compile(r"^#.*$", re.MULTILINE)
"""No sentences: a line of code may have to come three times."""


class Lent:
    """One model for many crews, none of which may free it."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def ask(self, call: Call) -> Reply:
        return await self._llm.ask(call)

    async def close(self) -> None:
        return None


async def measure(model: str, out: Path, seeds: tuple[int, ...]) -> None:
    found = chosen(model, os.environ)
    context = max(one.context_tokens or 0 for one in load_crew(out, small=True))
    for seed in seeds:
        llm = await load(found.file, context, Limits(), SystemClock(), seed)
        try:
            for number, request in enumerate(REQUESTS, 1):
                file = out / f"{number}-{seed}.json"
                if not file.exists():
                    run = await one_run(Lent(llm), f"embedded:{found.name}", request)
                    said = {"request": request, "seed": seed, "load_seconds": llm.seconds, **run}
                    file.write_text(json.dumps(said, indent=1))
                    print(line(number, said), flush=True)
        finally:
            await llm.close()


async def one_run(llm: LLM, model: str, request: str) -> dict[str, Any]:
    began, busy = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".swarm").mkdir()
        (Path(folder) / ".swarm" / FILE).write_text((shipped("config") / SMALL_FILE).read_text())
        env = {**os.environ, "SWARM_MODEL": model}
        async with Swarm.open(folder, llm=llm, env=env) as swarm:
            outcome = await swarm.run(request)
            seconds = time.monotonic() - began
            family = await swarm.board.family(outcome.request)
            spent = await swarm.board.replies.spent(outcome.request)
            tasks = [task for task in family if task.kind is Kind.TASK]
            rejections = [one for task in tasks for one in await _rejections(swarm, task)]
    return {
        "status": outcome.status,
        "answer": outcome.answer or "",
        "titles": [task.title for task in tasks],
        "statuses": [task.status for task in tasks],
        "rejections": rejections,
        "seconds": seconds,
        "load_average": busy,
        "calls": spent.calls,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
    }


async def _rejections(swarm: Swarm, task: Task) -> list[dict[str, Any]]:
    async with swarm.store.read() as reader:
        found = [one for _, one in await reader.critiques(task.id)]
    return [
        {"task": task.title, "by_code": bool(one.comment), "suggestions": one.suggestions}
        for one in found
        if not one.passed
    ]


def judged(run: dict[str, Any]) -> dict[str, bool]:
    """The promises of docs/embedded-model.md, each kept or not."""
    words = len(run["answer"].split())
    said = Counter(
        same(one)
        for one in sentences(FENCED.sub("\n", HEADINGS.sub("", run["answer"])))
        if len(same(one).split()) >= LONG_SENTENCE_WORDS
    )
    alike = [likeness(*pair) for pair in combinations(run["titles"], 2)]
    return {
        "tasks": 3 <= len(run["titles"]) <= 5,
        "different": max(alike, default=0) < 0.8,
        "length": 50 <= words <= 600,
        "repeats": max(said.values(), default=0) < 3,
    }


def line(number: int, run: dict[str, Any]) -> str:
    broken = [name for name, kept in judged(run).items() if not kept]
    return (
        f"| {number} | {run['seed']} | {len(run['titles'])} | {len(run['rejections'])} | "
        f"{len(run['answer'].split())} | {run['calls']} | {run['output_tokens']} | "
        f"{run['seconds']:.0f} | {run['load_average']:.1f} | {', '.join(broken) or 'all kept'} |"
    )


def report(out: Path) -> None:
    print("| request | seed | tasks | rejections | words | calls | tokens written | s | load | |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    runs = [(file.name, json.loads(file.read_text())) for file in sorted(out.glob("*-*.json"))]
    for name, run in runs:
        print(line(int(name.partition("-")[0]), run))
    kept = sum(all(judged(run).values()) for _, run in runs)
    rejections = [one for _, run in runs for one in run["rejections"]]
    by_code = sum(one["by_code"] for one in rejections)
    print(
        f"\n{kept} of {len(runs)} runs keep every promise; {len(rejections)} rejections, "
        f"{by_code} of them without asking the model."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    anyio.run(measure, given.model, given.out, tuple(given.seeds))
    report(given.out)


if __name__ == "__main__":
    main()
