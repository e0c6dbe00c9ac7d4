from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from core import Swarm
from core.domain.budget import Budget
from core.domain.task import COMPLETED, Task, TaskId, TaskStatus
from core.errors import ModelFailed, ModelOutage, ModelRefused
from core.llm.client import Call, Reply
from core.llm.scripted import ScriptedLLM
from core.orchestrator import Orchestrator
from tests.support.brain import Brain, planned, role_of
from tests.support.clock import VirtualClock
from tests.support.crew import at_work, by_title

OUTAGE = ModelOutage("http://server", "connection refused")


class Failing:
    """Plays the brain, but for calls that a rule makes fail."""

    def __init__(self, brain: Brain, fail: Callable[[str], BaseException | None]) -> None:
        self.brain, self.fail = brain, fail

    async def ask(self, call: Call) -> Reply:
        await anyio.lowlevel.checkpoint()
        error = self.fail(role_of(call.messages[-1].content))
        if error is not None:
            raise error
        return Reply(self.brain.reply(call))

    async def close(self) -> None: ...


async def test_a_server_that_refuses_stops_the_crew_and_costs_no_attempt(tmp_path: Path) -> None:
    refusal = ModelRefused("http://server", "wrong key", "check OPENAI_API_KEY")
    async with Swarm.open(tmp_path, llm=Failing(Brain(), lambda role: refusal), env={}) as swarm:
        request = await swarm.add("Do it")

        with anyio.fail_after(5), pytest.raises(ModelRefused):
            await swarm.work()

        task = await swarm.board.get(request.id)
        assert (task.status, task.attempts, task.holder) == (TaskStatus.PENDING, 0, None)


async def test_a_server_that_never_answered_ends_the_run(tmp_path: Path) -> None:
    async with Swarm.open(tmp_path, llm=Failing(Brain(), lambda role: OUTAGE), env={}) as swarm:
        await swarm.add("Do it")

        with anyio.fail_after(5), pytest.raises(ModelOutage):
            await swarm.work()


async def test_an_outage_in_the_middle_pauses_the_work_and_costs_no_attempt(
    tmp_path: Path,
) -> None:
    clock, out = VirtualClock(), True
    said: list[str] = []
    model = Failing(Brain(), lambda role: OUTAGE if out and role == "work" else None)
    async with Swarm.open(tmp_path, llm=model, env={}, clock=clock) as swarm:
        request = await swarm.add("Do it")
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:

                async def work() -> None:
                    await swarm.work(notice=said.append)

                group.start_soon(work)
                while not said:
                    await anyio.wait_all_tasks_blocked()
                out = False
                while (await swarm.board.get(request.id)).status is not COMPLETED:
                    await clock.advance(1)

        task = await by_title(swarm, request.id, "Write it")
        assert task.attempts == 0
        assert "work pauses for 5 s" in said[0]
        assert said[-1] == "the model server answers again; work goes on"


async def test_an_outage_that_lasts_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    clock = VirtualClock()
    model = Failing(Brain(), lambda role: OUTAGE if role == "work" else None)
    async with Swarm.open(tmp_path, llm=model, env={}, clock=clock) as swarm:
        request = await swarm.add("Do it")
        with anyio.fail_after(20), pytest.raises(ModelOutage):
            await _hours_pass(clock, swarm.work)

        task = await by_title(swarm, request.id, "Write it")
        assert (task.status, task.attempts) == (TaskStatus.PENDING, 0)


async def _hours_pass(clock: VirtualClock, act: Callable[[], Awaitable[None]]) -> None:
    """Until it ends, one way or the other."""
    ends: list[BaseException | None] = []

    async def watched() -> None:
        try:
            await act()
            ends.append(None)
        except ModelOutage as error:
            ends.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(watched)
        while not ends:
            await anyio.wait_all_tasks_blocked()
            await clock.advance(60)
    if ends[0] is not None:
        raise ends[0]


async def test_a_crash_in_one_step_is_one_attempt_and_loud(tmp_path: Path) -> None:
    crashes = iter([ZeroDivisionError("oops")])
    model = Failing(Brain(), lambda role: next(crashes, None) if role == "work" else None)
    with capture_logs() as logs:
        async with Swarm.open(tmp_path, llm=model, env={}) as swarm:
            outcome = await swarm.run("Do it")

            assert outcome.exit_code() == 0
            assert [one["event"] for one in logs if one["log_level"] == "error"] == ["work_crashed"]
            assert "ZeroDivisionError: oops" in str(logs)


async def test_own_code_stands_behind_the_executors(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("Add up", tags=["sum"]), planned("Write")])
    async with at_work(tmp_path, brain) as swarm:

        @swarm.executor(tags=["sum"])
        async def add_up(task: Task) -> str:
            return f"{task.title}: 42"

        outcome = await swarm.run("Add and write")

        assert (await by_title(swarm, outcome.request, "Add up")).result == "Add up: 42"
        assert brain.prompts_of("work", "Add up") == []


async def test_own_code_that_fails_is_an_attempt_with_its_reason(tmp_path: Path) -> None:
    async with at_work(tmp_path, Brain()) as swarm:

        @swarm.executor()
        async def fails(task: Task) -> str:
            raise ValueError("no such table")

        with capture_logs():
            outcome = await swarm.run("Count rows")

        assert outcome.exit_code() == 1
        events = [event async for event in swarm.events()]
        assert "ValueError: no such table" in "".join(event.line() for event in events)


async def _running(swarm: Swarm, request: TaskId, crews: list[Orchestrator]) -> None:
    while not crews or not len(crews[0].hands) or len(await swarm.board.family(request)) < 2:
        await anyio.wait_all_tasks_blocked()


async def test_a_stop_waits_for_calls_that_end_and_keeps_their_results(tmp_path: Path) -> None:
    crews: list[Orchestrator] = []
    gate = anyio.Event()

    async with at_work(tmp_path, Brain(plan=[planned("A"), planned("B", "simple", "A")])) as swarm:

        @swarm.executor()
        async def slow(task: Task) -> str:
            await gate.wait()
            return "paid for"

        request = await swarm.add("Do it")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: swarm.work(started=crews.append))
            await _running(swarm, request.id, crews)
            crews[0].stop()
            gate.set()

        assert (await by_title(swarm, request.id, "A")).result == "paid for"
        assert (await by_title(swarm, request.id, "B")).status is TaskStatus.PENDING


async def test_a_stop_at_once_lets_claims_go_without_an_attempt(tmp_path: Path) -> None:
    crews: list[Orchestrator] = []
    async with at_work(tmp_path, Brain(), never="Write it") as swarm:
        request = await swarm.add("Do it")
        with anyio.fail_after(2):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: swarm.work(started=crews.append))
                await _running(swarm, request.id, crews)
                crews[0].stop(0)

        task = await by_title(swarm, request.id, "Write it")
        assert (task.status, task.attempts, task.holder) == (TaskStatus.PENDING, 0, None)


async def test_a_paid_reply_is_not_paid_for_again_after_a_stop(tmp_path: Path) -> None:
    brain = Brain(plan=[planned("A"), planned("B")])
    first = True

    def fail(role: str) -> BaseException | None:
        nonlocal first
        if role == "close_out" and first:
            first = False
            return ModelRefused("http://server", "no money left", "pay")
        return None

    async with Swarm.open(tmp_path, llm=Failing(brain, fail), env={}) as swarm:
        request = await swarm.add("Do it")
        with pytest.raises(ModelRefused):
            await swarm.work()
        await swarm.work()

        assert (await swarm.outcome(request.id)).exit_code() == 0
        assert brain.roles() == ["plan", "work", "work", "close_out"]


async def test_a_review_whose_letter_died_waits_for_a_person_when_the_crew_ends(
    tmp_path: Path,
) -> None:
    failure = ModelFailed("http://server", "broken")
    model = Failing(
        Brain(plan=[planned("Report", "normal")]),
        lambda role: failure if role == "advice" else None,
    )
    async with Swarm.open(tmp_path, llm=model, env={}) as swarm:
        with anyio.fail_after(10):
            outcome = await swarm.run("Report it")

        assert outcome.exit_code() == 5
        assert [one.title for one in outcome.needs_you] == ["Report"]


async def test_a_budget_holds_for_a_model_in_this_process_too(tmp_path: Path) -> None:
    brain = Brain(plan=[planned(f"part {number}") for number in range(20)])
    model = ScriptedLLM(brain.reply)
    options = {"limits.max_output_tokens": 200}
    async with Swarm.open(tmp_path, llm=model, env={}, options=options) as swarm:
        with anyio.fail_after(20):
            outcome = await swarm.run("Do it", budget=Budget(tokens=8000, usd=1))

        spent = await swarm.board.replies.spent(outcome.request)
        assert outcome.exit_code() == 6
        assert 2000 < spent.input_tokens + spent.output_tokens <= 8000
        assert spent.unknown == 0
