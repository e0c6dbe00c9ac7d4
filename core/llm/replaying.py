"""Replaying: a recorded run again, without a server; says where what is asked has changed."""

import json
from collections import defaultdict, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from core.domain.task import Usage
from core.errors import (
    BadConfig,
    ModelError,
    ModelFailed,
    ModelOutage,
    ModelRefused,
    ReplayDeparted,
)
from core.llm.client import Call, Reply
from core.llm.recording import VERSION

PATIENCE_SECONDS = 0.25
"""How long a reply waits for those that came before it, where these are not asked for."""
SHOWN = 120


class Exchange(NamedTuple):
    number: int
    asked: str
    """Model, shape and messages, as one text."""
    reply: Reply | None
    error: Mapping[str, str]


class Replay:
    """Replies come in the order in which they came, so that the same agents do the same."""

    def __init__(self, head: Mapping[str, Any], exchanges: list[Exchange]) -> None:
        self.head = head
        self._left: defaultdict[str, deque[Exchange]] = defaultdict(deque)
        for one in exchanges:
            self._left[one.asked].append(one)
        self._done = 0
        self._waiting: set[int] = set()
        self._next = 1
        self._moved = anyio.Event()

    @property
    def unused(self) -> int:
        return sum(map(len, self._left.values()))

    async def ask(self, call: Call) -> Reply:
        exchange = self._found(_asked(call))
        await self._turn(exchange.number)
        self._done += 1
        if exchange.reply is not None:
            return exchange.reply
        raise _error(exchange.error)

    async def close(self) -> None: ...

    def _found(self, asked: str) -> Exchange:
        line = self._left.get(asked)
        if not line:
            raise ReplayDeparted(self._done + 1, _difference(self._nearest(asked), asked))
        return line.popleft()

    def _nearest(self, asked: str) -> str:
        left = [text for text, line in self._left.items() if line]
        return max(left, key=lambda text: _same_start(text, asked), default="")

    async def _turn(self, number: int) -> None:
        self._waiting.add(number)
        while number > self._next:
            with anyio.move_on_after(PATIENCE_SECONDS) as patience:
                await self._moved.wait()
            if patience.cancelled_caught and number == min(self._waiting):
                break
        self._waiting.discard(number)
        self._next = max(self._next, number + 1)
        moved, self._moved = self._moved, anyio.Event()
        moved.set()


def read_replay(path: Path) -> Replay:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        head, *rest = lines
        if head["swarm_recording"] != VERSION:
            raise BadConfig(f"{path}: a recording of another version of Swarm can't be replayed")
        return Replay(head, [_exchange(number, one) for number, one in enumerate(rest, 1)])
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadConfig(f"{path}: can't be read ({why})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadConfig(f"{path}: this is no recording of a run, or a damaged one") from error


def _exchange(number: int, said: Mapping[str, Any]) -> Exchange:
    messages = [(role, content) for role, content in said["messages"]]
    asked = _text(said["model"], said["schema"], messages)
    found = said.get("reply")
    if found is None:
        return Exchange(number, asked, None, said["error"])
    usage = Usage.model_validate(found["usage"])
    return Exchange(number, asked, Reply(found["text"], found["model"], usage), {})


def _asked(call: Call) -> str:
    schema = call.schema.__name__ if call.schema is not None else None
    return _text(call.model, schema, [(said.role, said.content) for said in call.messages])


def _text(model: str, schema: str | None, messages: list[tuple[str, str]]) -> str:
    parts = [f"model {model}, shape {schema or 'text'}"]
    parts += [f"[{role}]\n{content}" for role, content in messages]
    return "\n".join(parts)


def _difference(recorded: str, asked: str) -> str:
    """The first line that is another one."""
    before, after = recorded.splitlines(), asked.splitlines()
    for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
        if old != new:
            return f"line {number} was {_shown(old, new)} and is {_shown(new, old)}"
    if not recorded:
        return "no call is left in the recording"
    if len(before) == len(after):
        return "it was asked fewer times then"
    number = min(len(before), len(after)) + 1
    longer, verb = (before, "was") if len(before) > len(after) else (after, "is new:")
    return f"line {number} {verb} {_shown(longer[number - 1], '')}"


def _shown(line: str, other: str) -> str:
    """A long line from shortly before where it begins to differ."""
    start = max(_same_start(line, other) - SHOWN // 2, 0)
    return repr(("…" if start else "") + line[start : start + SHOWN])


def _same_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _error(said: Mapping[str, str]) -> ModelError:
    server, why = "(recorded)", str(said.get("why", ""))
    match said.get("type"):
        case "ModelOutage":
            return ModelOutage(server, why)
        case "ModelRefused":
            return ModelRefused(server, why, "see the recording")
        case _:
            return ModelFailed(server, why)
