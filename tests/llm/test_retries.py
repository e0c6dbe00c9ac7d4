"""What is tried again, and how long it waits."""

import random
from email.utils import formatdate

import anyio
import pytest

from core.errors import ModelOutage
from core.llm import retries
from core.llm.retries import Temporary, asked_wait_seconds, keep_trying, wait_seconds
from tests.support.clock import VirtualClock

NOW = 1_000_000.0


class Flaky:
    """Fails in passing so many times."""

    def __init__(self, failures: int, retry_after_seconds: float | None = None) -> None:
        self.tries = 0
        self._failures = failures
        self._retry_after_seconds = retry_after_seconds

    async def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self._failures:
            error = ModelOutage("s", f"try {self.tries}")
            raise Temporary(error, self._retry_after_seconds)
        return "done"


async def test_the_happy_path_makes_no_tenacity_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(retries, "AsyncRetrying")

    assert await keep_trying(Flaky(0), 5, VirtualClock(), random.Random()) == "done"


async def test_it_waits_on_the_clock_and_not_before_its_time() -> None:
    clock, flaky, results = VirtualClock(), Flaky(1, retry_after_seconds=30), list[str]()

    async def run() -> None:
        results.append(await keep_trying(flaky, 5, clock, random.Random()))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        await clock.advance(29)
        assert flaky.tries == 1
        await clock.advance(1)

    assert results == ["done"]


@pytest.mark.parametrize("more", [0, 1, 3])
async def test_the_last_error_is_raised_when_no_try_is_left(more: int) -> None:
    clock, flaky = VirtualClock(), Flaky(99)

    async def run() -> None:
        with pytest.raises(ModelOutage, match=f"try {more + 1}"):
            await keep_trying(flaky, more, clock, random.Random())

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        await clock.advance(100)

    assert flaky.tries == more + 1


async def test_other_errors_are_not_tried_again() -> None:
    async def broken() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await keep_trying(broken, 5, VirtualClock(), random.Random())


def test_the_jitter_is_bounded_and_the_bound_doubles() -> None:
    failure, source = Temporary(ModelOutage("s", "x")), random.Random(1)

    for tries, bound in [(1, 0.5), (2, 1), (3, 2), (6, 16), (7, 20), (500, 20)]:
        waits = [wait_seconds(failure, tries, source) for _ in range(300)]

        assert 0 <= min(waits) < bound * 0.1
        assert bound * 0.9 < max(waits) <= bound


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "3600"}, 60),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(NOW + 20, usegmt=True)}, 20),
        ({"retry-after": formatdate(NOW - 20, usegmt=True)}, 0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert asked_wait_seconds(headers, NOW) == seconds
