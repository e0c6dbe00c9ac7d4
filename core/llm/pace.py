"""Pace: how much one server takes at once and within a minute, as it lets us know."""

from collections import deque
from collections.abc import Mapping

from core.domain.limits import Limits

MINUTE = 60.0
MARGIN_SECONDS = 0.9
"""Calls may reach the server closer to each other than they left here."""
CLOSE = 0.95
"""A refusal so near to what was allowed says little: perhaps the calls came a bit early."""
FIRST_AT_ONCE = 8
RAISE_SECONDS, LONGEST_RAISE_SECONDS = 60.0, 960.0
"""How long nothing may be refused before a little more is tried; doubled when that was too much."""


class Start:
    """One call that was let through: it counts for a minute."""

    __slots__ = ("at", "before", "probe", "tokens")

    def __init__(self, at: float, tokens: int, before: int, *, probe: bool) -> None:
        self.at, self.tokens, self.probe = at, tokens, probe
        self.before = before
        """How many of its minute were there when it began, and the refused ones ever."""


class Pace:
    def __init__(self, limits: Limits) -> None:
        self.in_flight = 0
        self.at_once = min(limits.max_parallel, FIRST_AT_ONCE)
        self.a_minute = limits.requests_per_minute
        self.tokens_a_minute = limits.tokens_per_minute
        self.held_until = 0.0
        self._most_at_once = limits.max_parallel
        self._most_a_minute = limits.requests_per_minute
        self._starts: deque[Start] = deque()
        self._tokens = 0
        self._refusals = 0
        self._raise_at = 0.0
        self._raise_seconds = RAISE_SECONDS
        self._raised_at: float | None = None

    def has_room(self) -> bool:
        return self.in_flight < self.at_once

    def wait_seconds(self, now: float, tokens: int) -> float:
        """Until one more call of this size fits into the minute; 0 when it does now."""
        starts, over = self._starts, now - MINUTE - MARGIN_SECONDS
        while starts and starts[0].at <= over:
            self._tokens -= starts.popleft().tokens
        waits = self.held_until - now
        if len(starts) >= self.a_minute:
            waits = max(waits, starts[len(starts) - self.a_minute].at - over)
        if self._tokens + tokens > self.tokens_a_minute and starts:
            waits = max(waits, self._until_tokens(tokens) - over)
        return max(waits, 0.0)

    def _until_tokens(self, tokens: int) -> float:
        left = self._tokens + tokens - self.tokens_a_minute
        for start in self._starts:
            left -= start.tokens
            if left <= 0:
                return start.at
        return self._starts[-1].at

    def start(self, now: float, tokens: int, *, probe: bool = False) -> Start:
        begun = Start(now, tokens, len(self._starts) + self._refusals, probe=probe)
        self._starts.append(begun)
        self._tokens += tokens
        self.in_flight += 1
        return begun

    def took(self, start: Start, now: float, tokens: int | None) -> None:
        """The server answered; what it counted may be known now."""
        if tokens is not None:
            self._tokens += tokens - start.tokens if self._still_counts(start) else 0
            start.tokens = tokens
        if not self._refusals:
            # Nothing was refused yet: twice as many with every round of calls.
            self.at_once = min(self.at_once + 1, self._most_at_once)
        elif now >= self._raise_at:
            self.at_once = min(self.at_once + 1, self._most_at_once)
            self.a_minute = min(self.a_minute + self.a_minute // 50 + 1, self._most_a_minute)
            self._raised_at = now
            self._raise_at = now + self._raise_seconds

    def refused(self, start: Start, now: float, wait_seconds: float | None) -> None:
        """The server takes no more just now: too many at once, or too many in a minute."""
        if self._still_counts(start):
            self._starts.remove(start)
            self._tokens -= start.tokens
        if wait_seconds is not None:
            self.held_until = max(self.held_until, now + wait_seconds)
        others = max(self.in_flight, 1)
        accepted = start.before - self._refusals
        self._refusals += 1
        if wait_seconds is None or accepted <= 2 * others:
            self.at_once = min(self.at_once, others)
        elif accepted < self.a_minute:
            close = accepted >= CLOSE * self.a_minute
            self.a_minute = self.a_minute - 1 if close else accepted
        if self._raised_at is not None and now - self._raised_at < MINUTE * 1.5:
            self._raise_seconds = min(self._raise_seconds * 2, LONGEST_RAISE_SECONDS)
        self._raised_at = None
        self._raise_at = now + self._raise_seconds

    def hear(self, headers: Mapping[str, str]) -> None:
        """A server that says its limits is believed."""
        said = headers.get("x-ratelimit-limit-requests")
        if said is not None:
            self._most_a_minute = min(self._most_a_minute, _count(said, self._most_a_minute))
            self.a_minute = min(self.a_minute, self._most_a_minute)
        said = headers.get("x-ratelimit-limit-tokens")
        if said is not None:
            self.tokens_a_minute = min(self.tokens_a_minute, _count(said, self.tokens_a_minute))

    def _still_counts(self, start: Start) -> bool:
        return bool(self._starts) and start.at >= self._starts[0].at


def _count(text: str, otherwise: int) -> int:
    try:
        return max(int(text), 1)
    except ValueError:
        return otherwise
