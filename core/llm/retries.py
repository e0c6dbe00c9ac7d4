"""What is worth trying again, and how long to wait before it."""

import math
import random
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from core.clock import Clock
from core.errors import ModelError

T = TypeVar("T")

LONGEST_ASKED_WAIT_SECONDS = 60.0
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 20.0

log = structlog.get_logger()


class Temporary(Exception):
    """A failure in passing; `error` is what it becomes when no try is left."""

    def __init__(
        self, error: ModelError, retry_after_seconds: float | None = None, *, busy: bool = False
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after_seconds = retry_after_seconds
        self.busy = busy
        """The server is there and takes no more just now."""


async def keep_trying(
    attempt: Callable[[], Awaitable[T]], retries: int, clock: Clock, source: random.Random
) -> T:
    """The first result of up to `retries` tries more; raises the last ModelError."""
    try:
        return await attempt()
    except Temporary as failure:
        first = failure
    try:
        return await _try_again(attempt, first, retries, clock, source)
    except Temporary as last:
        raise last.error from last.__cause__


async def _try_again(
    attempt: Callable[[], Awaitable[T]],
    first: Temporary,
    retries: int,
    clock: Clock,
    source: random.Random,
) -> T:
    failed = [first]

    async def one_try() -> T:
        # tenacity takes the failure that happened before it as its own first try.
        if failed:
            raise failed.pop()
        return await attempt()

    retrying = AsyncRetrying(
        sleep=clock.sleep,
        stop=stop_after_attempt(retries + 1),
        wait=lambda state: wait_seconds(_failure(state), state.attempt_number, source),
        retry=retry_if_exception_type(Temporary),
        before_sleep=_tell,
        reraise=True,
    )
    result: T = await retrying(one_try)
    return result


def wait_seconds(failure: Temporary, tries: int, source: random.Random) -> float:
    """What the server asked for, else any time up to a bound that doubles with every try."""
    if failure.retry_after_seconds is not None:
        return failure.retry_after_seconds
    doublings = min(tries - 1, 16)
    return source.uniform(0, min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**doublings))


def asked_wait_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """What Retry-After says, in either of its forms, never more than a minute."""
    asked = _number(headers.get("retry-after-ms"), 1000)
    if asked is None:
        asked = _number(headers.get("retry-after"), 1)
    if asked is None:
        asked = _until(headers.get("retry-after"), now)
    return None if asked is None else min(max(asked, 0.0), LONGEST_ASKED_WAIT_SECONDS)


def _number(text: str | None, per_second: int) -> float | None:
    try:
        value = float(text or "") / per_second
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _until(text: str | None, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp() - now
    except (ValueError, OverflowError):
        return None


def _failure(state: RetryCallState) -> Temporary:
    failure = state.outcome.exception() if state.outcome else None
    assert isinstance(failure, Temporary)
    return failure


def _tell(state: RetryCallState) -> None:
    log.warning(
        "model_call_failed_in_passing",
        why=str(_failure(state)),
        tries=state.attempt_number,
        wait_seconds=round(state.upcoming_sleep, 3),
    )
