"""ScriptedLLM."""

import anyio
import pytest

from core.domain.task import Usage
from core.errors import ModelFailed, ModelOutage
from core.llm.client import LLM, Call, Reply, Said
from core.llm.scripted import ScriptedLLM
from tests.support.clock import VirtualClock

CALL = Call("m", (Said("user", "four"),))


async def test_a_list_is_answered_in_turn_and_then_fails() -> None:
    llm = ScriptedLLM(["one", Reply("two")])

    assert (await llm.ask(CALL)).text == "one"
    assert await llm.ask(CALL) == Reply("two")
    with pytest.raises(ModelFailed, match="no line left"):
        await llm.ask(CALL)
    assert llm.calls == [CALL] * 3


async def test_a_function_sees_the_call_and_usage_is_estimated() -> None:
    llm: LLM = ScriptedLLM(lambda call: call.messages[0].content + "é")

    reply = await llm.ask(CALL)

    assert reply == Reply("fouré", "m", Usage(input_tokens=2, output_tokens=2))
    await llm.close()


async def test_an_error_in_the_script_is_raised() -> None:
    with pytest.raises(ModelOutage):
        await ScriptedLLM([ModelOutage("s", "down")]).ask(CALL)


async def test_latency_is_waited_on_the_clock() -> None:
    clock = VirtualClock()
    llm = ScriptedLLM(["late"], latency_seconds=5, clock=clock)

    async with anyio.create_task_group() as group:
        group.start_soon(llm.ask, CALL)
        await anyio.wait_all_tasks_blocked()
        await clock.advance(5)

    assert clock.now() == VirtualClock().now() + 5
