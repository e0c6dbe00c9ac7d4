"""ScriptedLLM: answers from a script, for tests and the offline demo."""

from collections.abc import Callable, Iterable

from core.clock import Clock, SystemClock
from core.domain.task import Usage
from core.errors import ModelFailed
from core.llm.client import Call, Reply

Line = str | Reply | Exception
"""What the script says to one call; an error is raised."""

BYTES_PER_TOKEN = 3


class ScriptedLLM:
    def __init__(
        self,
        script: Callable[[Call], Line] | Iterable[Line],
        *,
        latency_seconds: float = 0,
        clock: Clock | None = None,
    ) -> None:
        self.calls: list[Call] = []
        self._answer = script if callable(script) else _in_turn(script)
        self._latency_seconds = latency_seconds
        self._clock = clock or SystemClock()

    async def ask(self, call: Call) -> Reply:
        self.calls.append(call)
        if self._latency_seconds:
            await self._clock.sleep(self._latency_seconds)
        line = self._answer(call)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else Reply(line, call.model, _usage(call, line))

    async def close(self) -> None:
        pass


def _in_turn(lines: Iterable[Line]) -> Callable[[Call], Line]:
    rest = iter(lines)
    over = ModelFailed("(script)", "the script has no line left")
    return lambda _: next(rest, over)


def _usage(call: Call, text: str) -> Usage:
    asked = sum(_tokens(said.content) for said in call.messages)
    return Usage(input_tokens=asked, output_tokens=_tokens(text))


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)
