"""Gate: the one way to a server for the whole crew: its pace, its breaker, its queue."""

from collections import deque

import anyio

from core.clock import Clock
from core.domain.limits import Limits
from core.errors import ModelOutage
from core.llm.breaker import Breaker, Passage
from core.llm.pace import Pace, Start


class _Waiter:
    __slots__ = ("called", "error", "nap", "start", "tokens")

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.called = anyio.Event()
        self.start: Start | None = None
        self.error: ModelOutage | None = None
        self.nap = anyio.CancelScope()
        """In which it waits for time to pass."""

    def call(self) -> None:
        self.called.set()
        self.nap.cancel()


class Gate:
    """Calls of different requests take turns, so that a large one does not starve the others."""

    def __init__(self, server: str, limits: Limits, clock: Clock) -> None:
        self.pace = Pace(limits)
        self.breaker = Breaker()
        self._server = server
        self._clock = clock
        self._lines: dict[str, deque[_Waiter]] = {}
        """Who waits, by request; whose turn is next stands first."""
        self._why = ""
        """What was wrong the last time."""
        self._keeper: _Waiter | None = None
        """The waiter that looks at the clock for all."""

    @property
    def waiting(self) -> int:
        return sum(map(len, self._lines.values()))

    async def enter(self, request: str, tokens: int) -> Start:
        """Wait for this call's turn; raises ModelOutage while the server is left alone."""
        now = self._clock.now()
        passage = self.breaker.passage(now)
        if passage is Passage.SHUT:
            raise self._outage(now)
        pace = self.pace
        free = passage is Passage.FREE and not self._lines and pace.has_room()
        if free and not pace.wait_seconds(now, tokens):
            return pace.start(now, tokens)
        return await self._wait(request, _Waiter(tokens))

    def leave(self, start: Start, tokens: int | None = None) -> None:
        """The server answered, whatever it said."""
        self.pace.in_flight -= 1
        self.breaker.answered()
        self.pace.took(start, self._clock.now(), tokens)
        self._admit()

    def leave_refused(self, start: Start, wait_seconds: float | None) -> None:
        """It is there and takes no more just now."""
        self.pace.in_flight -= 1
        self.breaker.answered()
        self.pace.refused(start, self._clock.now(), wait_seconds)
        self._admit()

    def leave_failed(
        self, start: Start, wait_seconds: float | None, why: str = "it failed several times"
    ) -> None:
        """It can't be reached, or is broken."""
        self._why = why
        self.pace.in_flight -= 1
        now = self._clock.now()
        if wait_seconds is not None:
            self.pace.held_until = max(self.pace.held_until, now + wait_seconds)
        if self.breaker.failed(now):
            self._turn_away(self._outage(now))
        self._admit()

    def leave_unheard(self, start: Start) -> None:
        """The call was given up here: nothing was learned of the server."""
        self.pace.in_flight -= 1
        if start.probe:
            self.breaker.abandon()
        self._admit()

    async def _wait(self, request: str, waiter: _Waiter) -> Start:
        self._lines.setdefault(request, deque()).append(waiter)
        try:
            self._admit()
            while waiter.start is None and waiter.error is None:
                await self._until_called(waiter)
        except BaseException:
            if waiter.start is not None:
                self.leave_unheard(waiter.start)
            else:
                self._forget(request, waiter)
            raise
        finally:
            if self._keeper is waiter:
                self._keeper = None
            self._hand_over()
        if waiter.error is not None:
            raise waiter.error
        assert waiter.start is not None, "it was let through or turned away"
        return waiter.start

    async def _until_called(self, waiter: _Waiter) -> None:
        seconds = self._seconds_to_wait()
        if seconds and self._keeper is None:
            self._keeper = waiter
            with anyio.CancelScope() as waiter.nap:
                await self._clock.sleep(seconds)
            self._keeper = None
            self._admit()
            return
        await waiter.called.wait()
        waiter.called = anyio.Event()

    def _seconds_to_wait(self) -> float:
        """For time alone to let somebody through; 0 when it is not time that is missing."""
        line = next(iter(self._lines.values()), None)
        if line is None or not self.pace.has_room():
            return 0.0
        return self.pace.wait_seconds(self._clock.now(), line[0].tokens)

    def _admit(self) -> None:
        """Let through whoever may go now, one of each request in turn."""
        now = self._clock.now()
        while self._lines and self.pace.has_room():
            passage = self.breaker.passage(now)
            request, line = next(iter(self._lines.items()))
            if passage in (Passage.WAIT, Passage.SHUT):
                break
            if self.pace.wait_seconds(now, line[0].tokens):
                break
            probe = passage is Passage.PROBE
            if probe:
                self.breaker.probe()
            waiter = line.popleft()
            waiter.start = self.pace.start(now, waiter.tokens, probe=probe)
            waiter.call()
            del self._lines[request]
            if line:
                self._lines[request] = line
        self._hand_over()

    def _hand_over(self) -> None:
        """Somebody has to look at the clock while only time is missing."""
        if self._keeper is None and self._lines and self._seconds_to_wait():
            next(iter(self._lines.values()))[0].called.set()

    def _turn_away(self, error: ModelOutage) -> None:
        lines, self._lines = self._lines, {}
        for line in lines.values():
            for waiter in line:
                waiter.error = error
                waiter.call()

    def _forget(self, request: str, waiter: _Waiter) -> None:
        line = self._lines.get(request)
        if line is not None and waiter in line:
            line.remove(waiter)
            if not line:
                del self._lines[request]

    def _outage(self, now: float) -> ModelOutage:
        seconds = max(self.breaker.again_at - now, 0.0)
        why = f"{self._why}; the next try is in {seconds:.0f} s"
        return ModelOutage(self._server, why, again_in_seconds=seconds)
