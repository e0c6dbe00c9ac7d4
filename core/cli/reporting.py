"""What a command says at its end: the answer, the result line, the summary, what needs you."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from core.app import Swarm
from core.cli.command import DONE
from core.cli.plain import one_line, plain
from core.cli.tree import durations
from core.domain.outcome import Named, Outcome
from core.domain.reply import Spent
from core.domain.task import Kind, TaskId
from core.views.board import commands
from core.views.wording import VERDICTS, doing, why

_WORST_FIRST = (6, 5, 1, 0)
_NOTHING: dict[str, Any] = {
    "request": None,
    "status": None,
    "answer": None,
    "partial": False,
    "failed": [],
    "needs_attention": [],
    "needs_you": [],
}
TITLE_WIDTH, WHY_WIDTH = 60, 160


def worst(codes: Iterable[int]) -> int:
    """Several outcomes as one exit code."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), DONE)


def print_answer(text: str) -> None:
    """On a terminal only what it can't obey; a pipe gets what the model wrote."""
    print(plain(text) if sys.stdout.isatty() else text, flush=True)


def result_line(code: int, outcome: Outcome | None, spent: Spent, **more: Any) -> str:
    """The last line of `--json`, one for each request that was worked on."""
    said = _NOTHING if outcome is None else outcome.model_dump(mode="json", include=set(_NOTHING))
    line = {"v": 1, "type": "result", "exit": code, **said, "usage": spent._asdict(), **more}
    return json.dumps(line)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def summary(swarm: Swarm, outcomes: Sequence[Outcome], seconds: float) -> None:
    """One line on what was done and spent, then what is left for a person."""
    spent = [await swarm.board.replies.spent(one.request) for one in outcomes]
    tasks = await _tasks(swarm, [one.request for one in outcomes])
    calls = sum(one.calls for one in spent)
    tokens = sum(one.input_tokens + one.output_tokens for one in spent)
    parts = [_count(tasks, "task"), _count(calls, "call"), f"{tokens:,} tokens"]
    costs = [one.cost_usd for one in spent if one.cost_usd is not None]
    parts += [f"${sum(costs):.2f}"] if costs else []
    parts.append(durations(seconds))
    if unknown := sum(one.unknown for one in spent):
        parts.append(f"{_count(unknown, 'call')} of unknown cost")
    for one, word in (("failed", "failed"), ("needs_attention", "worth a look")):
        if number := sum(len(getattr(outcome, one)) for outcome in outcomes):
            parts.append(f"{number} {word}")
    needing = [named for outcome in outcomes for named in outcome.needs_you]
    if needing:
        parts.append(f"{len(needing)} {'needs' if len(needing) == 1 else 'need'} you")
    say(", ".join(parts))
    for named in needing:
        await _what_to_do(swarm, named, "needs you")
    for named in (one for outcome in outcomes for one in outcome.failed):
        await _what_to_do(swarm, named)
    for named in (one for outcome in outcomes for one in outcome.needs_attention):
        await _what_to_do(swarm, named, "worth a look")


async def _tasks(swarm: Swarm, roots: Iterable[TaskId]) -> int:
    families = [await swarm.board.family(root) for root in roots]
    return sum(task.kind is Kind.TASK for family in families for task in family)


async def _what_to_do(swarm: Swarm, named: Named, heading: str = "") -> None:
    """What is the matter with a task, and below it what a person can type."""
    task = await swarm.board.get(named.task)
    reason = why(task) or (VERDICTS[task.verdict] if task.verdict else "")
    because = f": {one_line(reason, WHY_WIDTH)}" if reason else ""
    say(f"{heading or doing(task)}: {task.id} {one_line(task.title, TITLE_WIDTH)}{because}")
    for way in commands(task)[:1]:
        say(f"  {way}")


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
