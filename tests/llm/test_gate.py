"""The gate to one server: how many at once, how often, whose turn, and whether it is up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import anyio
import pytest
from anyio.abc import TaskGroup

from core.domain.limits import Limits
from core.errors import ModelOutage
from core.llm.gate import Gate
from core.llm.pace import Start
from tests.support.clock import VirtualClock


class Door:
    """A gate with callers whose calls last until the test ends them."""

    def __init__(self, group: TaskGroup, **limits: int) -> None:
        self.clock = VirtualClock()
        self.gate = Gate("http://server", Limits.model_validate(limits), self.clock)
        self.inside: list[tuple[str, Start]] = []
        self.turned_away: list[str] = []
        self._group = group

    async def come(self, *requests: str, tokens: int = 0) -> None:
        for request in requests:
            self._group.start_soon(self._call, request, tokens)
            await anyio.wait_all_tasks_blocked()

    async def _call(self, request: str, tokens: int) -> None:
        try:
            self.inside.append((request, await self.gate.enter(request, tokens)))
        except ModelOutage:
            self.turned_away.append(request)

    async def answer(self) -> None:
        self.gate.leave(self.inside.pop(0)[1])
        await anyio.wait_all_tasks_blocked()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.inside]


@asynccontextmanager
async def door(**limits: int) -> AsyncIterator[Door]:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            yield Door(group, **limits)
            group.cancel_scope.cancel()


async def test_requests_take_turns_so_that_a_large_one_starves_nobody() -> None:
    async with door(max_parallel=1) as at:
        await at.come(*"aaaa", "b", "c")
        order = []
        while at.inside:
            order += at.names
            await at.answer()

    assert order == ["a", "a", "b", "c", "a", "a"]


async def test_no_more_calls_begin_in_a_minute_than_are_allowed() -> None:
    async with door(max_parallel=8, requests_per_minute=3) as at:
        await at.come(*"aaaaa")
        assert len(at.inside) == 3
        for _ in range(3):
            await at.answer()

        await at.clock.advance(59)
        assert at.inside == []
        await at.clock.advance(3)
        assert len(at.inside) == 2


async def test_tokens_are_counted_by_the_minute_and_a_call_too_large_goes_alone() -> None:
    async with door(max_parallel=8, tokens_per_minute=100) as at:
        await at.come("a", "b", tokens=60)
        assert at.names == ["a"]
        await at.clock.advance(61)
        assert at.names == ["a", "b"]
        await at.come("huge", tokens=1000)
        await at.clock.advance(61)
        assert at.names == ["a", "b", "huge"]


async def test_what_a_call_really_took_counts_once_it_is_known() -> None:
    async with door(max_parallel=8, tokens_per_minute=100) as at:
        await at.come("a", "b", tokens=60)

        at.gate.leave(at.inside.pop(0)[1], tokens=10)
        await anyio.wait_all_tasks_blocked()

        assert at.names == ["b"]


async def test_retry_after_holds_everybody() -> None:
    async with door(max_parallel=8) as at:
        await at.come("a")
        at.gate.leave_refused(at.inside.pop(0)[1], 7)
        await at.come("b")
        assert at.inside == []

        await at.clock.advance(6)
        assert at.inside == []
        await at.clock.advance(1)
        assert at.names == ["b"]


async def test_a_refusal_lowers_how_many_run_at_once_and_slowly_more_are_tried() -> None:
    async with door(max_parallel=8) as at:
        await at.come(*"abcdefgh")
        for _ in range(5):
            at.gate.leave_refused(at.inside.pop()[1], None)
        assert at.gate.pace.at_once == 3
        await at.come(*"abcdefgh")
        assert len(at.inside) == 3

        await at.clock.advance(59)
        await at.answer()
        assert len(at.inside) == 3
        await at.clock.advance(2)
        await at.answer()
        assert len(at.inside) == 4


async def test_many_are_not_sent_at_once_before_the_server_has_shown_what_it_takes() -> None:
    async with door(max_parallel=100) as at:
        await at.come(*"a" * 40)
        assert len(at.inside) == 8
        for _ in range(8):
            await at.answer()
        assert len(at.inside) == 16


async def test_a_server_that_says_its_limits_is_believed() -> None:
    async with door(max_parallel=8) as at:
        at.gate.pace.hear({"x-ratelimit-limit-requests": "2", "x-ratelimit-limit-tokens": "x"})
        await at.come(*"abc")

        assert at.names == ["a", "b"]


async def fail(at: Door, times: int) -> None:
    for _ in range(times):
        await at.come("a")
        at.gate.leave_failed(at.inside.pop(0)[1], None)


async def test_a_server_that_fails_in_a_row_is_left_alone_and_then_probed_by_one_call() -> None:
    async with door(max_parallel=8) as at:
        await fail(at, 5)
        await at.come("b")
        assert at.turned_away == ["b"]

        await at.clock.advance(5)
        await at.come(*"cde")
        assert at.names == ["c"]
        await at.answer()

        assert at.names == ["d", "e"]


async def test_a_probe_that_fails_turns_the_others_away_and_the_rest_lasts_longer() -> None:
    async with door(max_parallel=8) as at:
        await fail(at, 5)
        await at.clock.advance(5)
        await at.come(*"bc")
        at.gate.leave_failed(at.inside.pop(0)[1], None)
        await anyio.wait_all_tasks_blocked()
        assert at.turned_away == ["c"]

        await at.clock.advance(9)
        await at.come("d")
        assert at.turned_away == ["c", "d"]
        await at.clock.advance(1)
        await at.come("e")
        assert at.names == ["e"]


async def test_a_probe_that_is_given_up_is_followed_by_another() -> None:
    async with door(max_parallel=8) as at:
        await fail(at, 5)
        await at.clock.advance(5)
        await at.come(*"bc")

        at.gate.leave_unheard(at.inside.pop(0)[1])
        await anyio.wait_all_tasks_blocked()

        assert at.names == ["c"]


@pytest.mark.parametrize("waits_for_time", [True, False])
async def test_a_caller_that_gives_up_leaves_its_place(waits_for_time: bool) -> None:
    limits = {"requests_per_minute": 1} if waits_for_time else {"max_parallel": 1}
    async with door(**limits) as at:
        await at.come("a")
        async with anyio.create_task_group() as impatient:
            impatient.start_soon(at.gate.enter, "b", 0)
            await anyio.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
        await at.come("c")

        await at.answer()
        await at.clock.advance(61)

        assert at.names == ["c"]


async def test_nobody_is_forgotten_whatever_they_wait_for() -> None:
    chance = Random(7)
    async with door(max_parallel=3, requests_per_minute=5) as at:
        for number in range(40):
            await at.come(f"r{number % 4}")
            if at.inside and chance.random() < 0.6:
                _, start = at.inside.pop(0)
                if chance.random() < 0.3:
                    at.gate.leave_refused(start, chance.choice([None, 2.0, 9.0]))
                else:
                    at.gate.leave(start)
            await at.clock.advance(chance.uniform(0, 8))
        for _ in range(40):
            while at.inside:
                await at.answer()
            await at.clock.advance(20)

        assert not at.gate.waiting


class FullServer:
    """Takes ten calls at once and sixty in any minute, on the clock of the test."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.in_flight = 0
        self.accepted: list[tuple[float, str]] = []
        self.refused = 0

    async def call(self, gate: Gate, request: str) -> None:
        while True:
            start = await gate.enter(request, 0)
            await self.clock.sleep(0.05)
            now = self.clock.now()
            recent = [at for at, _ in self.accepted[-60:] if at > now - 60]
            if self.in_flight >= 10 or len(recent) >= 60:
                self.refused += 1
                wait = recent[0] + 60 - now if len(recent) >= 60 else None
                gate.leave_refused(start, wait)
                await self.clock.sleep(wait or 1.0)
                continue
            self.in_flight += 1
            self.accepted.append((now, request))
            await self.clock.sleep(7)
            self.in_flight -= 1
            gate.leave(start)
            return


async def test_two_hundred_callers_use_what_a_full_server_allows_without_a_storm() -> None:
    clock = VirtualClock()
    gate = Gate("http://server", Limits(max_parallel=200), clock)
    server = FullServer(clock)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(400):
                group.start_soon(server.call, gate, "small" if number % 20 == 19 else "large")
            began = clock.now()
            while len(server.accepted) < 400:
                await clock.step()
            group.cancel_scope.cancel()

    minutes = int((server.accepted[-1][0] - began) / 60)
    used = sum(at < began + minutes * 60 for at, _ in server.accepted) / (minutes * 60)
    order = [name for _, name in server.accepted]
    assert minutes >= 5
    assert used >= 0.9
    assert server.refused <= len(server.accepted) / 10
    assert max(number for number, name in enumerate(order) if name == "small") < 60
