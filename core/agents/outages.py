"""Outages: work for a server that is out rests, the rest of the crew goes on."""

from collections.abc import Callable

from core.clock import Clock
from core.errors import DayBudgetSpent, ModelOutage

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 60.0
OUTAGE_SECONDS = 15 * 60.0

EVERYBODY = ""
"""The server of agents that name none; what is out there stops all."""


class _State:
    def __init__(self) -> None:
        self.answered = False
        self.out_since: float | None = None
        self.paused_until = 0.0
        self.pause_seconds = FIRST_PAUSE_SECONDS


class Outages:
    def __init__(self, clock: Clock, notice: Callable[[str], object]) -> None:
        self._clock = clock
        self._notice = notice
        self._states: dict[str, _State] = {}
        self._answered_at = 0.0
        self.servers: frozenset[str] = frozenset()
        """All that this crew talks to."""

    def pause_seconds(self, server: str) -> float:
        """How long work for this server rests from now on."""
        if not self._states:
            return 0.0
        states = (self._states.get(name) for name in {server, EVERYBODY})
        until = max((one.paused_until for one in states if one is not None), default=0.0)
        return until - self._clock.now()

    def answered(self, server: str) -> None:
        state = self._states.setdefault(server, _State())
        state.answered = True
        if state.out_since is None and len(self._states) == 1:
            return
        now = self._clock.now()
        for name in {server, EVERYBODY}:
            one = self._states.get(name)
            # A call that was under way when all had to rest says nothing of the rest.
            if one is not None and one.out_since is not None and one.paused_until <= now:
                one.out_since = None
                one.pause_seconds = FIRST_PAUSE_SECONDS
                self._notice("the model server answers again; work goes on")
        self._answered_at = now

    def began(self, server: str, error: ModelOutage) -> bool:
        """Whether to wait for its end: not where nobody ever answered, or for too long."""
        now = self._clock.now()
        state = self._states.setdefault(server, _State())
        state.out_since = state.out_since or now
        long_out = now - state.out_since >= OUTAGE_SECONDS
        # A spent day ends at midnight, and the next one may be spent as well.
        if (
            long_out
            and not isinstance(error, DayBudgetSpent)
            and now - self._answered_at >= OUTAGE_SECONDS
        ):
            return False
        if self._all_out and not any(one.answered for one in self._states.values()):
            return False
        if state.paused_until <= now:
            seconds = max(state.pause_seconds, error.again_in_seconds or 0.0)
            state.paused_until = now + seconds
            state.pause_seconds = min(state.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
            self._notice(f"{error}; work pauses for {seconds:.0f} s")
        return True

    @property
    def _all_out(self) -> bool:
        """No server is left that might answer."""
        out = {name for name, state in self._states.items() if state.out_since is not None}
        return EVERYBODY in out or self.servers <= out
