"""What a person decides: cancel, retry, answer, approve, redo, reject."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from core.app import Swarm
from core.cli.command import STDIN, app
from core.cli.looking import Id, existing, found
from core.cli.options import (
    HERE,
    BudgetTokens,
    BudgetUsd,
    Json,
    Message,
    Project,
    StoreUrl,
    budget,
)
from core.cli.paper import paper, print_json
from core.cli.plain import one_line
from core.cli.reading import BadInput, read_text
from core.domain import decisions
from core.domain.steps import Place, place_of
from core.domain.task import Task, TaskId
from core.process import surely_dead
from core.views.wording import doing

Step = Callable[[Swarm, TaskId], Awaitable[Task]]
Words = Annotated[str, Parameter(help="What you want to say; - reads it from stdin.")]


@app.command(help_epilogue="Examples:\n  swarm cancel k3f9")
async def cancel(
    task: Id, /, *, project: Project = HERE, store: StoreUrl = None, json: Json = False
) -> None:
    """Go on without a task or request, and all that lies below it; what is done stays."""
    await _decide((project, store), [task], ("cancelled", _cancel), json=json)


@app.command(
    help_epilogue="Examples:\n  swarm retry k3f9\n  swarm retry k3f9 --budget-tokens 500000"
)
async def retry(
    task: Id,
    /,
    *,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Try again what failed, or go on with a higher budget."""
    raised = budget(budget_tokens, budget_usd)

    async def step(swarm: Swarm, task_id: TaskId) -> Task:
        charges = swarm.board.charges
        if raised:
            await charges.give(task_id, raised)
        room = await charges.has_room(task_id)
        return await swarm.board.people.retry(task_id, budget_raised=room)

    await _decide((project, store), [task], ("to be tried again", step), json=json)


@app.command(
    help_epilogue='Examples:\n  swarm answer k3f9 "Use the figures of 2024"\n  swarm answer k3f9 -'
)
async def answer(
    task: Id,
    text: Words = "",
    /,
    *,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Answer a task's question, or take up again what was rejected or put aside."""
    words = read_text(Path(STDIN)).strip() if text == STDIN else text.strip()

    async def step(swarm: Swarm, task_id: TaskId) -> Task:
        before = await swarm.board.get(task_id)
        if place_of(before) is Place.BLOCKED_QUESTION and not words:
            asked = one_line(before.message, 200) or "it needs your words to go on"
            raise BadInput(f'{task_id} asks: {asked}; say it with swarm answer {task_id} "…"')
        return await swarm.board.people.reopen(task_id, words)

    await _decide((project, store), [task], ("goes on with your answer", step), json=json)


@app.command(
    help_epilogue='Examples:\n  swarm approve k3f9\n  swarm approve k3f9 7yk2 -m "well done"'
)
async def approve(
    task: Id,
    /,
    *more: Id,
    message: Message = "",
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Accept finished work, or take note of what deserved a look; all of these, or none."""

    async def step(swarm: Swarm, task_id: TaskId) -> Task:
        return await swarm.board.people.approve(task_id, message)

    await _decide((project, store), [task, *more], ("approved", step), json=json)


@app.command(help_epilogue='Examples:\n  swarm redo k3f9 -m "Name the sources"')
async def redo(
    task: Id,
    /,
    *,
    message: Message,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Have a task done again, or an answer written again, and say what to change."""
    words = _said(message, "what is to be changed")

    async def step(swarm: Swarm, task_id: TaskId) -> Task:
        return await swarm.board.people.redo(task_id, words)

    await _decide((project, store), [task], ("to be done again", step), json=json)


@app.command(help_epilogue='Examples:\n  swarm reject k3f9 -m "Not what was asked for"')
async def reject(
    task: Id,
    /,
    *,
    message: Message,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Refuse finished work; it rests until you answer or cancel it."""
    words = _said(message, "why it is rejected")

    async def step(swarm: Swarm, task_id: TaskId) -> Task:
        return await swarm.board.people.reject(task_id, words)

    await _decide((project, store), [task], ("rejected", step), json=json)


async def _cancel(swarm: Swarm, task_id: TaskId) -> Task:
    return await swarm.board.people.cancel(task_id)


def _said(message: str, what: str) -> str:
    words = read_text(Path(STDIN)) if message == STDIN else message
    if not words.strip():
        raise BadInput(f"the message is empty; say {what} with -m")
    return words.strip()


async def _decide(
    place: tuple[Path, str | None], prefixes: Sequence[str], named: tuple[str, Step], *, json: bool
) -> None:
    """One step for each of these tasks, and a word on what comes next."""
    outcome, step = named
    async with existing(*place) as swarm:
        tasks = [await found(swarm, prefix) for prefix in prefixes]
        assert swarm is not None, "a task was found on a board"
        wanted = list(dict.fromkeys(task.id for task in tasks))
        if len(wanted) > 1:
            # Refused as a whole before the first one changes.
            for task in tasks:
                decisions.approve(task, swarm.store.clock.now())
        moved = [await step(swarm, task_id) for task_id in wanted]
        after = [await swarm.board.get(task.id) for task in moved]
        next_step = await _what_next(swarm, after)
    if json:
        print_json({"tasks": [_as_json(task) for task in after], "next": next_step})
        return
    for task in after:
        now = "" if doing(task) == outcome else f"; now {doing(task)}"
        paper().print(f"{task.id} {one_line(task.title, 60)}: {outcome}{now}.")
    paper().print(next_step)


def _as_json(task: Task) -> dict[str, object]:
    reason = task.reason.value if task.reason is not None else None
    return {
        "id": task.id,
        "request": task.root,
        "title": task.title,
        "status": task.status.value,
        "reason": reason,
        "doing": doing(task),
    }


async def _what_next(swarm: Swarm, tasks: Sequence[Task]) -> str:
    roots = frozenset(task.root for task in tasks)
    async with swarm.store.read() as reader:
        now = reader.now
        at_it = [task for task in await reader.held() if task.root in roots]
        if any(_lives(task, now) for task in at_it):
            return "The crew that is at work goes on with it."
        if await reader.busy(roots):
            return "Next: swarm work goes on with it."
        open_roots = [one for one in roots if not (await reader.task(one)).settled]
    if open_roots:
        return "Its request still waits for you: swarm status"
    return "Nothing more is to be done."


def _lives(task: Task, now: float) -> bool:
    if task.holder is None or task.lease_until is None:
        return False
    return now < task.lease_until and not surely_dead(task.holder)
