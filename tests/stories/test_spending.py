"""What calls cost: booked to the token, bounded by budgets, and honest about what nobody knows."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core import Swarm
from core.domain.budget import Budget, Charge, ChargeState
from core.domain.task import COMPLETED, PENDING
from core.errors import DayBudgetSpent, IllegalTransition, PriceUnknown
from core.orchestrator import Orchestrator
from tests.support.brain import Brain, planned, role_of
from tests.support.clock import HurriedClock, VirtualClock
from tests.support.crew import the_books_are_right
from tests.support.engines import named_store
from tests.support.openai_server import Answer, OpenAIServer

USAGE = {"prompt_tokens": 300, "completion_tokens": 100}
PLAN = [planned(f"part {number}") for number in range(6)]
PRICES = {
    "budget.prices.model-a.input": 1.0,
    "budget.prices.model-a.output": 10.0,
    "budget.prices.model-a.cached_input": 0.1,
}


class Metered:
    """A brain on a server that counts 400 tokens for each call."""

    def __init__(self, brain: Brain, **more: Any) -> None:
        self.brain, self.more = brain, more

    def __call__(self, asked: dict[str, Any]) -> Answer:
        return Answer(self.brain(asked["messages"]), **{"usage": USAGE, **self.more})


@asynccontextmanager
async def spending(
    path: Path, brain: Any, options: Mapping[str, object] | None = None, clock: Any = None
) -> AsyncIterator[tuple[Swarm, OpenAIServer]]:
    options = {"limits.max_output_tokens": 500, **(options or {})}
    with anyio.fail_after(30):
        async with OpenAIServer(brain).running() as server:
            env = {"OPENAI_BASE_URL": server.url, **named_store(path)}
            async with Swarm.open(path, options=options, env=env, clock=clock) as swarm:
                yield swarm, server
                await the_books_are_right(swarm, server)


async def charges(swarm: Swarm, request: str) -> list[Charge]:
    return await swarm.board.charges.of(request)  # type: ignore[arg-type]


async def test_each_call_is_one_charge_with_its_price(tmp_path: Path) -> None:
    details = {**USAGE, "prompt_tokens_details": {"cached_tokens": 200}}
    brain = Metered(Brain(plan=PLAN[:2]), usage=details)
    async with spending(tmp_path, brain, PRICES) as (swarm, _):
        outcome = await swarm.run("Do it")

        rows = await charges(swarm, outcome.request)
        assert [row.label for row in rows] == ["plan", "work", "work", "close_out"]
        assert {(row.state, row.cached_tokens) for row in rows} == {(ChargeState.SETTLED, 200)}
        # 100 new and 200 cached tokens in, 100 out.
        assert rows[0].cost_usd == pytest.approx((100 * 1 + 200 * 0.1 + 100 * 10) / 1e6)


async def test_a_price_nobody_knows_stays_unknown(tmp_path: Path) -> None:
    async with spending(tmp_path, Metered(Brain())) as (swarm, _):
        outcome = await swarm.run("Do it")

        spent = await swarm.board.replies.spent(outcome.request)
        assert (spent.cost_usd, spent.unpriced, spent.calls) == (None, 2, 2)


async def test_failed_tries_are_paid_for_and_counted(tmp_path: Path) -> None:
    left = [Answer("", usage=USAGE), Answer("half", finish="length", usage=USAGE)]
    brain = Metered(Brain())

    def talk(asked: dict[str, Any]) -> Answer:
        return left.pop() if left else brain(asked)

    async with spending(tmp_path, talk, clock=HurriedClock(100)) as (swarm, server):
        outcome = await swarm.run("Do it")

        assert outcome.exit_code() == 0
        assert server.counted == [1200, 400]
        assert len(await charges(swarm, outcome.request)) == 4


async def test_a_request_stops_at_its_budget_with_a_partial_answer(tmp_path: Path) -> None:
    brain = Brain(plan=[planned(f"part {number}") for number in range(40)])
    usage = {"prompt_tokens": 200, "completion_tokens": 100}
    options = {"limits.max_output_tokens": 100}
    async with spending(tmp_path, Metered(brain, usage=usage), options) as (swarm, _):
        outcome = await swarm.run("Do it", budget=Budget(tokens=10_000))

        assert outcome.exit_code() == 6
        assert outcome.partial
        assert outcome.answer is not None
        assert "The whole answer." in outcome.answer
        assert "the budget was spent" in outcome.answer
        spent = await swarm.board.replies.spent(outcome.request)
        assert 0.8 * 10_000 <= spent.input_tokens + spent.output_tokens <= 10_000
        family = await swarm.board.family(outcome.request)
        assert {task.status for task in family[1:]} == {COMPLETED, PENDING}
        assert max(task.attempts for task in family) == 0


async def test_a_raised_budget_goes_on_where_it_was(tmp_path: Path) -> None:
    brain = Brain(plan=PLAN)
    async with spending(tmp_path, Metered(brain)) as (swarm, _):
        request = (await swarm.run("Do it", budget=Budget(tokens=3500))).request
        with pytest.raises(IllegalTransition, match="raise its budget"):
            await swarm.board.people.retry(request, budget_raised=False)

        await swarm.board.charges.give(request, Budget(tokens=50_000))
        assert await swarm.board.charges.has_room(request)
        await swarm.board.people.retry(request, budget_raised=True)
        await swarm.work()

        done = await swarm.outcome(request)
        assert (done.answer, done.exit_code()) == ("The whole answer.", 0)
        assert brain.roles().count("plan") == 1
        assert brain.roles().count("work") == len(PLAN)


async def test_calls_that_run_at_the_same_time_do_not_spend_the_same_tokens(
    tmp_path: Path,
) -> None:
    """Eight agents, and a budget that the reservations of two calls fill."""
    (tmp_path / ".swarm").mkdir()
    (tmp_path / ".swarm" / "agents.yaml").write_text(
        "agents:\n  planner: {role: planner}\n  executor: {role: executor, count: 8}\nadvice: off\n"
    )
    plan = [planned(f"part {number}") for number in range(18)]
    brain = Metered(Brain(plan=plan), delay_seconds=0.01)
    async with spending(tmp_path, brain) as (swarm, server):
        outcome = await swarm.run("Do it", budget=Budget(tokens=5000))

        spent = await swarm.board.replies.spent(outcome.request)
        assert outcome.exit_code() == 6
        assert 0.6 * 5000 <= spent.input_tokens + spent.output_tokens <= 5000
        assert server.most_in_flight > 1


async def test_a_budget_of_dollars_holds_too(tmp_path: Path) -> None:
    async with spending(tmp_path, Metered(Brain(plan=PLAN)), PRICES) as (swarm, _):
        outcome = await swarm.run("Do it", budget=Budget(usd=0.012))

        assert outcome.exit_code() == 6
        spent = await swarm.board.replies.spent(outcome.request)
        assert spent.cost_usd is not None
        assert 0.004 < spent.cost_usd <= 0.012


async def test_a_budget_of_dollars_is_refused_without_a_price(tmp_path: Path) -> None:
    async with spending(tmp_path, Metered(Brain())) as (swarm, server):
        await swarm.reach_servers()
        with pytest.raises(PriceUnknown, match=r"budget\.prices"):
            swarm.demand_prices(Budget(usd=1))
        with pytest.raises(PriceUnknown):
            await swarm.run("Do it", budget=Budget(usd=1))

        assert server.requests == []


async def test_a_spent_day_rests_the_crew_and_changes_no_status(tmp_path: Path) -> None:
    options = {"budget.day_tokens": 2000}
    async with spending(tmp_path, Metered(Brain(plan=PLAN)), options) as (swarm, server):
        request = await swarm.add("Do it")
        said: list[str] = []
        told = anyio.Event()
        crews: list[Orchestrator] = []

        def tell(text: str) -> None:
            said.append(text)
            told.set()

        async with anyio.create_task_group() as group:

            async def work() -> None:
                await swarm.work(notice=tell, started=crews.append)

            group.start_soon(work)
            await told.wait()
            crews[0].stop()

        assert "today's budget of 2,000 tokens is spent" in said[0]
        family = await swarm.board.family(request.id)
        assert {task.status for task in family[1:]} <= {COMPLETED, PENDING}
        assert sum(server.counted) <= 2000
        counted = server.counted

    async with spending(tmp_path, Metered(Brain()), {"budget.day_tokens": 400}) as (swarm, server):
        with pytest.raises(DayBudgetSpent):
            await swarm.work()

        assert server.requests == []
        server.counted = counted


async def test_a_day_that_is_spent_goes_on_at_midnight(tmp_path: Path) -> None:
    options = {"budget.day_tokens": 2000, "limits.heartbeat_seconds": 30_000}
    options |= {"limits.lease_seconds": 200_000, "limits.task_timeout_minutes": 100_000}
    clock = VirtualClock()
    async with spending(tmp_path, Metered(Brain(plan=PLAN)), options, clock) as (swarm, _):
        request = await swarm.add("Do it")
        said: list[str] = []
        told = anyio.Event()
        crews: list[Orchestrator] = []

        def tell(text: str) -> None:
            said.append(text)
            told.set()

        async with anyio.create_task_group() as group:

            async def work() -> None:
                await swarm.work(notice=tell, started=crews.append)

            group.start_soon(work)
            await told.wait()
            before = len([1 for task in await swarm.board.family(request.id) if task.result])
            for _ in range(5):
                await clock.advance(5 * 3600)
            for _ in range(500):
                await anyio.sleep(0.02)
                family = await swarm.board.family(request.id)
                if len([1 for task in family if task.result]) > before:
                    break
            crews[0].stop()

        assert len([1 for task in family if task.result]) > before


async def test_calls_in_flight_at_a_kill_show_as_unknown(tmp_path: Path) -> None:
    reached = anyio.Event()

    def talk(asked: dict[str, Any]) -> Answer:
        prompt = str(asked["messages"][-1]["content"])
        if role_of(prompt) == "work":
            reached.set()
            return Answer(hang=True)
        return Metered(Brain())(asked)

    with anyio.fail_after(30):
        async with OpenAIServer(talk).running() as server:
            env = {**os.environ, "OPENAI_BASE_URL": server.url, **named_store(tmp_path)}
            command = [sys.executable, "-m", "core", "run", "Do it", "-C", str(tmp_path)]
            process = await anyio.open_process(
                command, env=env, cwd=Path(__file__).parents[2], stdout=None, stderr=None
            )
            await reached.wait()
            process.send_signal(signal.SIGKILL)
            await process.wait()

            async with Swarm.open(tmp_path, env=named_store(tmp_path)) as swarm:
                (added, *_) = [one async for one in swarm.events()]
                spent = await swarm.board.replies.spent(added.task)  # type: ignore[arg-type]
                assert (spent.calls, spent.unknown) == (1, 1)
                assert spent.estimated_tokens > 4096
                assert spent.input_tokens + spent.output_tokens == sum(server.counted)
