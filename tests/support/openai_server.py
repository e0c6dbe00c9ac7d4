"""A real HTTP server on this machine that speaks the OpenAI protocol and has a script for a brain.

`python -m tests.support.openai_server --port 0 --script echo` runs it by itself.
"""

import argparse
import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h11


@dataclass(frozen=True)
class Answer:
    """What the server does with one request; without faults it says `text`."""

    text: str | None = ""
    status: int = 200
    error: object = None
    """The JSON body of a refusal."""
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent as it is, in place of a reply."""
    content_type: str = "text/html"
    finish: str | None = "stop"
    refusal: str | None = None
    usage: dict[str, int] | None = field(
        default_factory=lambda: {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    )
    choices: Any = "real"
    """None or [] to send that instead."""
    stream: bool = True
    """False: one JSON object even when a stream was asked for."""
    cut_after: int | None = None
    """Closes the connection after so many pieces of a stream."""
    hang_after: int | None = None
    """Falls silent after so many pieces of a stream, until the client goes."""
    hang: bool = False
    pause_after: int | None = None
    """Waits for `wait_for` after so many pieces of a stream, and not before the first."""
    wait_for: asyncio.Event | None = None
    delay_seconds: float = 0


Brain = Callable[[dict[str, Any]], Answer]
HTML = Answer(raw=b"<!doctype html><title>Hello</title>")
BROKEN_JSON = Answer(raw=b'{"choices": [', content_type="application/json", stream=False)


def refused(status: int, message: str, **more: Any) -> Answer:
    """A refusal as OpenAI words it; `headers` are the answer's, the rest goes into the error."""
    headers = more.pop("headers", {})
    return Answer(status=status, error={"error": {"message": message, **more}}, headers=headers)


class OpenAIServer:
    def __init__(self, brain: Brain, models: tuple[str, ...] | Answer = ("model-a",)) -> None:
        self.brain = brain
        self.models = models
        self.requests: list[dict[str, Any]] = []
        """Bodies of the chat requests, each with the header under `authorization`."""
        self.headers: list[dict[str, str]] = []
        """Of the chat requests."""
        self.counted = [0, 0]
        """Tokens of the bills that were sent whole: read and written."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.connections = 0
        self.hung_up = asyncio.Event()
        """A client went away before its answer was complete."""
        self.asked = asyncio.Event()
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator["OpenAIServer"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: asyncio's would report its cancellation as an error.
        self.connections += 1
        task = asyncio.create_task(self._converse(reader, writer), name="connection")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        try:
            while (request := await wire.next_request()) is not None:
                await self._serve(wire, *request)
                if not wire.ready_for_next():
                    break
        except (ConnectionError, h11.RemoteProtocolError):
            self.hung_up.set()
        finally:
            writer.close()

    async def _serve(self, wire: "Wire", request: h11.Request, body: bytes) -> None:
        if request.target.split(b"?")[0].endswith(b"/models"):
            await self._list_models(wire)
            return
        asked = json.loads(body)
        headers = {name.decode(): value.decode() for name, value in request.headers}
        self.headers.append(headers)
        self.requests.append({**asked, "authorization": headers.get("authorization")})
        self.asked.set()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self._answer(wire, asked, self.brain(asked))
        finally:
            self.in_flight -= 1

    async def _list_models(self, wire: "Wire") -> None:
        if isinstance(self.models, Answer):
            await self._answer(wire, {}, self.models)
            return
        data = [{"id": name, "object": "model"} for name in self.models]
        await wire.send_json(200, {"object": "list", "data": data})

    async def _answer(self, wire: "Wire", asked: dict[str, Any], answer: Answer) -> None:
        if answer.hang:
            await wire.wait_until_gone()
        if answer.wait_for and answer.pause_after is None:
            await answer.wait_for.wait()
        await asyncio.sleep(answer.delay_seconds)
        if answer.status != 200:
            await wire.send_json(answer.status, answer.error, answer.headers)
        elif answer.raw is not None:
            await wire.send(200, answer.raw, {"content-type": answer.content_type})
        elif asked.get("stream") and answer.stream:
            await self._stream(wire, asked, answer)
        else:
            await wire.send_json(200, completion(asked, answer))
            self._count(answer)

    def _count(self, answer: Answer) -> None:
        if answer.usage:
            self.counted[0] += answer.usage["prompt_tokens"]
            self.counted[1] += answer.usage["completion_tokens"]

    async def _stream(self, wire: "Wire", asked: dict[str, Any], answer: Answer) -> None:
        await wire.start(200, {"content-type": "text/event-stream"})
        for count, piece in enumerate(pieces(asked, answer)):
            if count == answer.cut_after:
                raise ConnectionAbortedError
            if count == answer.pause_after and answer.wait_for:
                await answer.wait_for.wait()
            if count == answer.hang_after:
                await wire.wait_until_gone()
            await wire.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
        await wire.write(b"data: [DONE]\n\n")
        await wire.finish()
        if answer.choices == "real" and (asked.get("stream_options") or {}).get("include_usage"):
            self._count(answer)


def completion(asked: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    choices = [{"index": 0, "message": message, "finish_reason": answer.finish}]
    whole: dict[str, Any] = {"id": "1", "object": "chat.completion", "model": asked.get("model")}
    whole["choices"] = choices if answer.choices == "real" else answer.choices
    return whole | ({"usage": answer.usage} if answer.usage else {})


def pieces(asked: dict[str, Any], answer: Answer) -> list[dict[str, Any]]:
    """The chunks of a stream: a role, the text in two halves, the finish, the bill if wanted."""
    head = {"id": "1", "object": "chat.completion.chunk", "model": asked.get("model")}
    if answer.choices != "real":
        return [head | {"choices": answer.choices}]
    text = answer.text or ""
    middle = len(text) // 2
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    deltas += [{"content": text[:middle]}, {"content": text[middle:]}]
    if answer.refusal:
        deltas.append({"refusal": answer.refusal})
    found = [head | {"choices": [{"index": 0, "delta": one}]} for one in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": answer.finish}
    found.append(head | {"choices": [last]})
    if answer.usage and (asked.get("stream_options") or {}).get("include_usage"):
        found.append(head | {"choices": [], "usage": answer.usage})
    return found


class Wire:
    """One connection of a client, HTTP/1.1 with keep-alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)

    async def next_request(self) -> tuple[h11.Request, bytes] | None:
        request: h11.Request | None = None
        body = b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                return request, body
            else:
                return None

    def ready_for_next(self) -> bool:
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def wait_until_gone(self) -> None:
        while await self._reader.read(65536):
            pass
        raise ConnectionAbortedError

    async def send_json(
        self, status: int, body: object, headers: dict[str, str] | None = None
    ) -> None:
        sent = {"content-type": "application/json", **(headers or {})}
        await self.send(status, json.dumps(body).encode(), sent)

    async def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        await self.start(status, {**headers, "content-length": str(len(body))})
        await self.write(body)
        await self.finish()

    async def start(self, status: int, headers: dict[str, str]) -> None:
        await self._put(h11.Response(status_code=status, headers=list(headers.items())))

    async def write(self, data: bytes) -> None:
        await self._put(h11.Data(data=data))

    async def finish(self) -> None:
        await self._put(h11.EndOfMessage())

    async def _put(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()


def echo(asked: dict[str, Any]) -> Answer:
    return Answer(str(asked["messages"][-1]["content"]))


SCRIPTS: dict[str, Brain] = {
    "echo": echo,
    "hello": lambda _: Answer("Hello."),
    "down": lambda _: refused(503, "overloaded"),
    "silent": lambda _: Answer(hang=True),
}


def script_named(name: str) -> Brain:
    """One of SCRIPTS, or `package.module:function`."""
    if name in SCRIPTS:
        return SCRIPTS[name]
    module, _, function = name.partition(":")
    brain: Brain = getattr(importlib.import_module(module), function)
    return brain


async def serve(port: int, script: str) -> None:
    async with OpenAIServer(script_named(script)).running(port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", default="echo", help="echo, hello, down, silent or module:name")
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.port, chosen.script))
