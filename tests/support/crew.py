"""A crew at work in a test: a whole Swarm whose model a test plays."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from core import Swarm
from core.domain.events import Event, EventType
from core.domain.task import Task, TaskId
from core.invariants import check
from tests.support.brain import Brain, title_of
from tests.support.engines import named_store
from tests.support.openai_server import Answer, OpenAIServer

DEADLINE_SECONDS = 30.0


@asynccontextmanager
async def at_work(
    path: Path,
    brain: Brain,
    *,
    never: str | None = None,
    instead: Callable[[dict[str, Any]], Answer | None] = lambda asked: None,
    options: Mapping[str, object] | None = None,
) -> AsyncIterator[Swarm]:
    """A Swarm on a real model server; its store is checked when the story is over."""

    def reply(request: dict[str, Any]) -> Answer:
        prompt = str(request["messages"][-1]["content"])
        if never is not None and title_of(prompt) == never:
            return Answer(hang=True)
        return instead(request) or Answer(brain(request["messages"]))

    with anyio.fail_after(DEADLINE_SECONDS):
        async with OpenAIServer(reply).running() as server:
            env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-key"}
            env |= named_store(path)
            async with Swarm.open(path, options=options, env=env) as swarm:
                yield swarm
                violations = await check(swarm.store, swarm.rules)
                assert violations == [], "\n".join(str(violation) for violation in violations)
                await the_books_are_right(swarm, server)


async def by_title(swarm: Swarm, request: TaskId, title: str) -> Task:
    found = [task for task in await swarm.board.family(request) if task.title == title]
    assert len(found) == 1, f"{len(found)} tasks are called {title!r}"
    return found[0]


async def happened(swarm: Swarm, task_id: TaskId, kind: EventType) -> list[Event]:
    return [e async for e in swarm.events() if e.task == task_id and e.type is kind]


async def failures_of(swarm: Swarm, task_id: TaskId) -> str:
    """Why its claims were given back, all together."""
    return " ".join([e.line() for e in await happened(swarm, task_id, EventType.TASK_LET_GO)])


async def the_books_are_right(swarm: Swarm, *servers: OpenAIServer) -> None:
    """What was booked is what the servers counted."""
    async with swarm.store.read() as reader:
        spent = await reader.spent_since(0)
    counted = [sum(server.counted[kind] for server in servers) for kind in (0, 1)]
    assert [spent.input_tokens, spent.output_tokens] == counted
