"""A crew at work in a test: a whole Swarm whose model a test plays."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel

from core import Swarm
from core.domain.events import Event, EventType
from core.domain.task import Task, TaskId
from core.invariants import check
from core.llm.client import Call, Reply
from tests.support.brain import Brain, title_of

DEADLINE_SECONDS = 30.0


class _Playing:
    def __init__(self, brain: Brain, never: str | None) -> None:
        self.brain, self.never = brain, never

    async def ask(self, call: Call) -> Reply:
        await anyio.lowlevel.checkpoint()
        if self.never and title_of(call.messages[-1].content) == self.never:
            await anyio.sleep_forever()
        return Reply(self.brain.reply(call))

    async def close(self) -> None: ...


@asynccontextmanager
async def at_work(
    path: Path,
    brain: Brain,
    *,
    never: str | None = None,
    options: Mapping[str, object] | None = None,
) -> AsyncIterator[Swarm]:
    """A Swarm whose store is checked for broken promises when the story is over."""
    with anyio.fail_after(DEADLINE_SECONDS):
        async with Swarm.open(path, llm=_Playing(brain, never), options=options, env={}) as swarm:
            yield swarm
            violations = await check(swarm.store, swarm.rules)
            assert violations == [], "\n".join(str(violation) for violation in violations)


async def by_title(swarm: Swarm, request: TaskId, title: str) -> Task:
    found = [task for task in await swarm.board.family(request) if task.title == title]
    assert len(found) == 1, f"{len(found)} tasks are called {title!r}"
    return found[0]


async def happened(swarm: Swarm, task_id: TaskId, kind: EventType) -> list[Event]:
    return [e async for e in swarm.events() if e.task == task_id and e.type is kind]
