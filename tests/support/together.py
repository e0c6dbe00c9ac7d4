"""Runs steps at the same time and says how each of them ended."""

from collections.abc import Awaitable, Callable

import anyio

Ended = object
"""What a step returned, or the error it raised."""


async def together(
    *steps: Callable[[], Awaitable[object]], limit_seconds: float = 10
) -> list[Ended]:
    """Start these steps in order, all ready at once; a step nobody wakes fails the test."""
    ended: list[Ended] = [None] * len(steps)

    async def run(place: int, step: Callable[[], Awaitable[object]]) -> None:
        try:
            ended[place] = await step()
        except Exception as error:
            ended[place] = error

    with anyio.fail_after(limit_seconds):
        async with anyio.create_task_group() as group:
            for place, step in enumerate(steps):
                group.start_soon(run, place, step, name=f"step {place}")
    return ended
