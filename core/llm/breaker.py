"""Breaker: a server that failed several times in a row is left alone, then probed."""

from enum import Enum

FAILURES_IN_A_ROW = 5
FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 5.0, 60.0


class Passage(Enum):
    FREE = "free"
    PROBE = "probe"
    """One call may go to see whether the server is back."""
    WAIT = "wait"
    """The probe is under way."""
    SHUT = "shut"


class Breaker:
    def __init__(self) -> None:
        self.again_at = 0.0
        """When it may be probed, while it is shut."""
        self._failures = 0
        self._rest_seconds = 0.0
        self._probing = False

    def passage(self, now: float) -> Passage:
        if not self._rest_seconds:
            return Passage.FREE
        if self._probing:
            return Passage.WAIT
        return Passage.PROBE if now >= self.again_at else Passage.SHUT

    def probe(self) -> None:
        self._probing = True

    def abandon(self) -> None:
        """The probe ended without a word: another call is to be the probe."""
        self._probing = False

    def answered(self) -> None:
        self._failures = 0
        self._rest_seconds = 0.0
        self._probing = False

    def failed(self, now: float) -> bool:
        """Whether it is shut from now on."""
        self._failures += 1
        if self._rest_seconds and not self._probing:
            return True  # A call that began before it was shut says nothing new.
        if self._failures < FAILURES_IN_A_ROW and not self._probing:
            return False
        self._probing = False
        self._rest_seconds = min(
            max(self._rest_seconds * 2, FIRST_REST_SECONDS), LONGEST_REST_SECONDS
        )
        self.again_at = now + self._rest_seconds
        return True
