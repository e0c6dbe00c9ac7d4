"""Everything about one task: its fields, its story, what was said about it, what it cost."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from core.domain.budget import Charge, ChargeState
from core.domain.critique import Critique
from core.domain.feedback import Feedback
from core.domain.reply import KeptReply, Spent
from core.domain.task import Complexity, Kind, Reason, Task, TaskId, TaskStatus, Usage
from core.store.protocol import Answer, Reader, Store
from core.views.board import TaskLine, commands, elapsed, line_of, lines_of
from core.views.view import View
from core.views.wording import VERDICTS, doing, told, why

EVENTS_A_PAGE = 5000
_COPIED = (
    "id",
    "title",
    "description",
    "kind",
    "status",
    "reason",
    "needs_attention",
    "parent",
    "type",
    "complexity",
    "agent",
    "executor",
    "round",
    "attempts",
    "iterations",
    "created",
    "started",
    "completed_at",
    "result",
)


class StoryLine(View):
    seq: int
    ts: float
    type: str
    text: str


class CritiqueLine(View):
    round: int
    critique: Critique


class Call(View):
    """What was really sent to a model, and what came back."""

    number: int
    ts: float
    label: str
    agent: str
    model: str
    messages: tuple[tuple[str, str], ...]
    """Role and content of each."""
    reply: str
    usage: Usage
    discarded: bool


class Spending(View):
    """What calls to models have cost; a price nobody knows stays unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    cached_tokens: int = 0
    unknown: int = 0
    """Calls that were sent and never settled: under way, or lost with their process."""
    unpriced: int = 0
    estimated_tokens: int = 0
    estimated_usd: float = 0.0


class TaskView(View):
    """Everything about one task."""

    id: TaskId
    title: str
    description: str
    kind: Kind
    status: TaskStatus
    reason: Reason | None
    doing: str
    why: str
    verdict: str
    needs_attention: bool
    request: TaskId
    request_title: str
    parent: TaskId | None
    type: str
    complexity: Complexity
    tags: tuple[str, ...]
    depends_on: tuple[TaskLine, ...]
    below: tuple[TaskLine, ...]
    agent: str | None
    executor: str | None
    round: int
    attempts: int
    iterations: int
    critiques_so_far: int
    created: float
    started: float | None
    completed_at: float | None
    elapsed_seconds: float | None
    result: str | None
    answers: tuple[Answer, ...]
    """Versions of its result; the last one is the current answer unless it is partial."""
    critiques: tuple[CritiqueLine, ...]
    feedback: tuple[Feedback, ...]
    story: tuple[StoryLine, ...]
    spent: Spending
    """For a request: by all its tasks."""
    commands: tuple[str, ...]


class _Records(NamedTuple):
    """What the store keeps about one task beside its row."""

    family: list[Task]
    depends_on: list[Task]
    critiques: list[tuple[int, Critique]]
    feedback: list[Feedback]
    answers: list[Answer]
    charges: list[Charge]
    story: tuple[StoryLine, ...]
    spent: Spent
    now: float


async def one_task(store: Store, task_id: TaskId) -> TaskView:
    async with store.read() as reader:
        task = await reader.task(task_id)
        kept = _Records(
            family=await reader.family(task.root),
            depends_on=[await reader.task(one) for one in task.depends_on],
            critiques=await reader.critiques(task_id),
            feedback=await reader.feedback(task_id),
            answers=await reader.answers(task_id),
            charges=[one for one in await reader.charges(task.root) if one.task == task_id],
            story=await _story(reader, task_id),
            spent=await reader.spent(task.root),
            now=reader.now,
        )
    return _task_view(task, kept)


def _task_view(task: Task, kept: _Records) -> TaskView:
    below = [one for one in kept.family if one.parent == task.id]
    return TaskView(
        **{name: getattr(task, name) for name in _COPIED},
        doing=doing(task),
        why=why(task),
        verdict=VERDICTS[task.verdict] if task.verdict else "",
        request=task.root,
        request_title=next((one.title for one in kept.family if one.id == task.root), ""),
        tags=tuple(dict.fromkeys((*task.tags, *task.planner_tags))),
        depends_on=tuple(line_of(one, kept.now) for one in kept.depends_on),
        below=lines_of(below, kept.family, kept.now),
        critiques_so_far=task.critique_round,
        elapsed_seconds=elapsed(task, kept.now),
        answers=tuple(kept.answers),
        critiques=tuple(CritiqueLine(round=number, critique=one) for number, one in kept.critiques),
        feedback=tuple(kept.feedback),
        story=kept.story,
        spent=_spent(kept.spent if task.parent is None else _summed(kept.charges)),
        commands=commands(task),
    )


async def _story(reader: Reader, task_id: TaskId) -> tuple[StoryLine, ...]:
    lines: list[StoryLine] = []
    after = 0
    while page := await reader.events(after, EVENTS_A_PAGE):
        after = page[-1].seq
        lines += [
            StoryLine(seq=one.seq, ts=one.ts, type=one.type.value, text=told(one))
            for one in page
            if one.task == task_id
        ]
    return tuple(lines)


def _spent(spent: Spent) -> Spending:
    return Spending(**spent._asdict())


def _summed(charges: Sequence[Charge]) -> Spent:
    settled = [one for one in charges if one.state is ChargeState.SETTLED]
    lost = [one for one in charges if one.state is not ChargeState.SETTLED]
    costs = [one.cost_usd for one in settled if one.cost_usd is not None]
    return Spent(
        calls=len(settled),
        input_tokens=sum(one.input_tokens for one in settled),
        output_tokens=sum(one.output_tokens for one in settled),
        cost_usd=sum(costs) if costs else None,
        cached_tokens=sum(one.cached_tokens for one in settled),
        unknown=len(lost),
        unpriced=len(settled) - len(costs),
        estimated_tokens=sum(one.estimated_tokens for one in lost),
        estimated_usd=sum(one.estimated_usd or 0.0 for one in lost),
    )


async def calls(store: Store, task_id: TaskId) -> tuple[Call, ...]:
    """Every call made for a task, in order."""
    async with store.read() as reader:
        return tuple(_call(one) for one in await reader.replies(task_id))


def _call(reply: KeptReply) -> Call:
    return Call(
        number=reply.number,
        ts=reply.ts,
        label=reply.label,
        agent=reply.agent,
        model=reply.model,
        messages=tuple((role, content) for role, content in json.loads(reply.prompt)),
        reply=reply.text,
        usage=reply.usage,
        discarded=reply.discarded,
    )
