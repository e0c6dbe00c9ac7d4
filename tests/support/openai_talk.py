"""A client and a scripted model server that talk to each other, for one test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from core.domain.limits import Limits
from core.llm.openai_client import OpenAIClient
from tests.support.clock import VirtualClock
from tests.support.openai_server import Answer, Brain, OpenAIServer

KEY = "sk-very-secret-0123456789"


class QuickClock(VirtualClock):
    """Nobody waits: time jumps, and what was asked for is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.jump(seconds)


@asynccontextmanager
async def talking(
    brain: Brain,
    clock: QuickClock | None = None,
    key: str | None = KEY,
    models: tuple[str, ...] | Answer = ("model-a",),
    **limits: Any,
) -> AsyncIterator[tuple[OpenAIClient, OpenAIServer]]:
    with anyio.fail_after(20):
        async with OpenAIServer(brain, models).running() as server:
            chosen = Limits.model_validate({"retries": 2, **limits})
            client = OpenAIClient(server.url, key, chosen, clock or QuickClock())
            try:
                yield client, server
            finally:
                await client.close()
