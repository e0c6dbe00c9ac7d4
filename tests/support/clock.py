"""VirtualClock: time moves only when a test says so; HurriedClock: faster than on the wall."""

import heapq
import itertools
import time

import anyio
import anyio.lowlevel

TURNS = 8
"""Of the event loop, until all that a sleeper sets off has come to rest."""


class VirtualClock:
    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        event = anyio.Event()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), event))
        await event.wait()

    def jump(self, seconds: float) -> None:
        """Move on where nobody sleeps."""
        self._now += seconds

    async def step(self) -> None:
        """Move on to the next sleeper: cheaper than `advance` where thousands sleep."""
        for _ in range(TURNS):
            await anyio.lowlevel.checkpoint()
        if self._sleepers:
            self._now, _, event = heapq.heappop(self._sleepers)
            event.set()

    async def advance(self, seconds: float) -> None:
        """Move on and wake sleepers in order."""
        end = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            self._now, _, event = heapq.heappop(self._sleepers)
            event.set()
            await anyio.wait_all_tasks_blocked()
        self._now = end


class HurriedClock:
    """Waits are a fraction of what they would be, in the order they would end in."""

    def __init__(self, times: float) -> None:
        self._times = times

    def now(self) -> float:
        return time.time() * self._times

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds / self._times)
