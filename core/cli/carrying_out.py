"""What run, add and work do once their options are read."""

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from core.app import Swarm
from core.cli.answer_file import AnswerFile
from core.cli.chosen_model import reached
from core.cli.command import DONE, INTERRUPTED
from core.cli.plain import one_line
from core.cli.planned import all_planned, plan_as_data, plan_lines
from core.cli.reading import with_earlier
from core.cli.reporting import print_answer, result_line, say, summary, worst
from core.cli.screens import screen_for
from core.cli.shift import Shift
from core.cli.worth import worth
from core.domain.agent import Role
from core.domain.budget import NO_BUDGET, Budget
from core.domain.outcome import Outcome
from core.domain.reply import Spent
from core.domain.task import Task
from core.llm.replaying import read_replay
from core.recorded_run import recorded_run

Opening = AbstractAsyncContextManager[Swarm]


@dataclass(frozen=True)
class Ways:
    """How a command shows its work and its end."""

    json: bool = False
    quiet: bool = False
    strict: bool = False
    output: AnswerFile | None = None


@dataclass(frozen=True)
class Asked:
    text: str
    tags: Sequence[str] = ()
    follow: str | None = None
    """Beginning of the id of an earlier request."""
    depends_on: Sequence[str] = ()
    """The same, of what has to be done before."""
    budget: Budget = NO_BUDGET
    record: Path | None = None
    """A file for every exchange with a model."""


def opened(project: Path, model: str | None = None, store: str | None = None) -> Opening:
    named = {"SWARM_MODEL": model, "SWARM_STORE": store}
    said = {name: value for name, value in named.items() if value}
    return Swarm.open(project, env={**os.environ, **said})


async def run(opening: Opening, asked: Asked, ways: Ways) -> int:
    async with opening as swarm:
        began = time.monotonic()
        shift, request = await _begin(swarm, asked, ways)
        shift.roots = await swarm.with_dependencies(request)
        finished = await shift.work()
        outcome = await swarm.outcome(request.id)
        code = outcome.exit_code(strict=ways.strict) if finished else INTERRUPTED
        code = INTERRUPTED if code is None else code
        await _tell(swarm, [outcome], code, ways, time.monotonic() - began)
        return code


async def replay(file: Path, project: Path, ways: Ways) -> int:
    """The recorded request once more, by a crew set up as it was."""
    found = read_replay(file)
    again = recorded_run(found.head)
    opening = Swarm.open(project, llm=found)
    asked = Asked(again.request, again.tags, budget=again.budget)
    code = await run(opening, asked, ways)
    if found.unused:
        _hint(ways, f"{found.unused} of the recorded calls were not made this time")
    return code


async def plan(opening: Opening, asked: Asked, ways: Ways) -> int:
    async with opening as swarm:
        shift, request = await _begin(swarm, asked, ways)

        async def planned() -> bool:
            return all_planned(await swarm.board.family(request.id))

        shift.roots, shift.roles = frozenset({request.id}), frozenset({Role.PLANNER})
        shift.enough, shift.picture = planned, False
        await shift.work()
        family = await swarm.board.family(request.id)
        if len(family) == 1:
            _resume()
            return INTERRUPTED
        if ways.json:
            spent = await swarm.board.replies.spent(request.id)
            outcome = await swarm.outcome(request.id)
            plan = plan_as_data(family, swarm.rules) | (await worth(swarm, family)).as_data()
            print(result_line(DONE, outcome, spent, plan=plan), flush=True)
        else:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
            cost = await worth(swarm, family)
            print("\n".join(plan_lines(family, swarm.rules, cost, width)), flush=True)
            _hint(ways, f"planned; run it with: swarm work, or drop it: swarm cancel {request.id}")
        return DONE


async def _begin(swarm: Swarm, asked: Asked, ways: Ways) -> tuple[Shift, Task]:
    """The request is added only when there is a server to work on it."""
    text = asked.text
    if asked.follow is not None:
        text = with_earlier(text, await _root(swarm, asked.follow))
    await _reached(swarm, "the request was not added", ways)
    cursor = await swarm.last_event()
    swarm.demand_prices(asked.budget)
    if asked.record is not None:
        await swarm.record(asked.record, text, asked.tags, asked.budget)
    request = await swarm.add(text, tags=asked.tags, budget=asked.budget)
    screen = screen_for(swarm, [request], json=ways.json, quiet=ways.quiet)
    return Shift(swarm, screen, cursor=cursor), request


async def _reached(swarm: Swarm, so_far: str, ways: Ways) -> None:
    try:
        await reached(swarm, told=not (ways.json or ways.quiet))
    except anyio.get_cancelled_exc_class():
        say(f"stopped before the model server answered; {so_far}")
        raise


async def _root(swarm: Swarm, prefix: str) -> Task:
    found = await swarm.board.find(prefix)
    return found if found.parent is None else await swarm.board.get(found.root)


async def add(
    opening: Opening,
    asked: Asked,
    fields: dict[str, Any],
    as_json: bool,
) -> int:
    async with opening as swarm:
        needs = tuple([(await swarm.board.find(prefix)).id for prefix in asked.depends_on])
        fields |= {"tags": asked.tags, "budget": asked.budget, "depends_on": needs}
        new = await swarm.add(asked.text, **fields)
        if as_json:
            names = ("id", "kind", "title", "status", "complexity", "depends_on", "tags", "type")
            print(json.dumps({"v": 1, **{name: getattr(new, name) for name in names}}))
        else:
            print(new.id, flush=True)
            say(f"added the {new.kind} {new.id}; work on it with: swarm work")
    return DONE


async def work(opening: Opening, ways: Ways) -> int:
    async with opening as swarm:
        began = time.monotonic()
        async with swarm.store.read() as reader:
            roots = [task for task in await reader.all_tasks() if task.parent is None]
        still_open = [root for root in roots if not root.settled]
        wanted = dict.fromkeys(root.id for root in still_open)
        finished = True
        if await swarm.board.busy():
            await _reached(swarm, "nothing was begun", ways)
            screen = screen_for(swarm, still_open, json=ways.json, quiet=ways.quiet)
            shift = Shift(swarm, screen, cursor=await swarm.last_event())
            finished = await shift.work()
            wanted |= shift.touched
        elif not still_open:
            empty = "every request on it is finished" if roots else "the board is empty"
            _hint(ways, f'nothing to do: {empty}; add something: swarm add "…"')
        outcomes = [await swarm.outcome(root) for root in wanted]
        codes = [one.exit_code(strict=ways.strict) or DONE for one in outcomes]
        code = worst(codes) if finished else INTERRUPTED
        await _tell(swarm, outcomes, code, ways, time.monotonic() - began)
        return code


async def _tell(
    swarm: Swarm, outcomes: Sequence[Outcome], code: int, ways: Ways, seconds: float
) -> None:
    """Answers to stdout, the rest to stderr."""
    if ways.json:
        await _tell_as_json(swarm, outcomes, code, strict=ways.strict)
    else:
        _print_answers(outcomes)
    if ways.output is not None and outcomes and outcomes[0].answer:
        ways.output.write(outcomes[0].answer)
    if outcomes and not (ways.json or ways.quiet):
        if any(one.answer for one in outcomes) and sys.stdout.isatty() and sys.stderr.isatty():
            say("")
        await summary(swarm, outcomes, seconds)
    if code == INTERRUPTED:
        _resume()


async def _tell_as_json(
    swarm: Swarm, outcomes: Sequence[Outcome], code: int, *, strict: bool
) -> None:
    for one in outcomes:
        spent = await swarm.board.replies.spent(one.request)
        own = one.exit_code(strict=strict)
        print(result_line(code if own is None else own, one, spent), flush=True)
    if not outcomes:
        print(result_line(code, None, Spent()), flush=True)


def _print_answers(outcomes: Sequence[Outcome]) -> None:
    answered = [one for one in outcomes if one.answer]
    for one in answered:
        if len(answered) > 1:
            print_answer(f"== {one_line(one.title)} ({one.request}) ==")
        print_answer(one.answer or "")


def _hint(ways: Ways, text: str) -> None:
    if not ways.json and not ways.quiet:
        say(text)


def _resume() -> None:
    say("stopped; nothing is lost. Go on with: swarm work")
