"""Reads what a server sends back: a stream of events, one JSON object, or garbage."""

import json
import ssl
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import anyio
import httpx2

from core.domain.task import NO_USAGE, Usage

MOST_BYTES = 32 * 1024 * 1024
LAST_BYTES_SECONDS = 0.5

BROKEN_CONNECTION = (httpx2.RequestError, ssl.SSLError, anyio.EndOfStream)


class Garbled(Exception):
    """What came is not a reply: broken, cut or something else altogether."""


class ErrorInside(Exception):
    """The server began with 200 and then sent an error."""

    def __init__(self, error: object) -> None:
        super().__init__()
        self.error = error


class Silent(Exception):
    """The server said nothing for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class Patience(NamedTuple):
    """How long to wait for the first token, and for each further one."""

    first_seconds: float
    silence_seconds: float
    asked_at: float
    """By the event loop's clock."""


class Heard(NamedTuple):
    text: str
    refusal: str
    finish: str | None
    model: str
    usage: Usage


async def read_reply(response: httpx2.Response, listener: "Listener", patience: Patience) -> Heard:
    """The whole reply; a stream that ends without saying that it is finished is Garbled."""
    if "text/event-stream" in response.headers.get("content-type", ""):
        return await _read_events(response.aiter_bytes(), listener, patience)
    body = await read_all(response)
    if body.lstrip().startswith(b"data:"):
        listener.feed(body)
        return listener.heard_stream()
    listener.take(parse(body))
    return listener.heard_object()


async def read_all(response: httpx2.Response) -> bytes:
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MOST_BYTES:
                raise Garbled("it was too long")
    except httpx2.TimeoutException:
        raise
    except BROKEN_CONNECTION as error:
        raise Garbled("the connection broke in the middle") from error
    return bytes(body)


async def _read_events(
    chunks: AsyncIterator[bytes], listener: "Listener", patience: Patience
) -> Heard:
    try:
        await _listen(chunks, listener, patience)
    except (Silent, *BROKEN_CONNECTION) as error:
        # After the finish only the bill is missing.
        if listener.finish is None:
            if isinstance(error, Silent | httpx2.TimeoutException):
                raise
            raise Garbled("the connection broke in the middle of the reply") from error
    return listener.heard_stream()


async def _listen(chunks: AsyncIterator[bytes], listener: "Listener", patience: Patience) -> None:
    silence, clock = patience.silence_seconds, anyio.current_time
    with anyio.CancelScope(deadline=patience.asked_at + patience.first_seconds) as scope:
        async for chunk in chunks:
            listener.feed(chunk)
            if listener.began:
                scope.deadline = clock() + silence
            if listener.done:
                await _drain(chunks)
                break
    if scope.cancelled_caught:
        raise Silent(silence if listener.began else patience.first_seconds)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end, so that the connection can be used again."""
    with anyio.move_on_after(LAST_BYTES_SECONDS):
        async for _ in chunks:
            pass


def parse(body: bytes) -> Any:
    """JSON, or Garbled with what it was instead."""
    text = body.decode(errors="replace").lstrip("\ufeff").strip()
    if not text:
        raise Garbled("an empty body")
    if text.startswith("<"):
        raise Garbled("a web page and not JSON; check OPENAI_BASE_URL")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Garbled("broken JSON") from error


class Listener:
    """Collects the pieces of one reply; a whole object is a stream of one piece."""

    def __init__(self) -> None:
        self.done = False
        self.began = False
        """Something of a reply was there."""
        self.finish: str | None = None
        self.usage: Usage | None = None
        self._size = 0
        self._rest = b""
        self._data: list[bytes] = []
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._choices = 0
        self._model = ""

    def feed(self, chunk: bytes) -> None:
        # Split by hand: httpx2's iter_lines also breaks at U+2028 and its like, inside JSON texts.
        self._size += len(chunk)
        if self._size > MOST_BYTES:
            raise Garbled("it was too long")
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._take_line(line.rstrip(b"\r"))

    def _take_line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            event, self._data = b"\n".join(self._data), []
            if event.startswith(b"[DONE]"):
                self.done = True
            elif not self.done:
                self.take(parse(event))

    def take(self, piece: Any) -> None:
        if not isinstance(piece, dict):
            raise Garbled("JSON that is not an object")
        if piece.get("error"):
            raise ErrorInside(piece["error"])
        if isinstance(piece.get("model"), str):
            self._model = piece["model"]
        if isinstance(piece.get("usage"), dict):
            self.usage = _usage(piece["usage"])
        choices = piece.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._choices += 1
            self.began = True
            self._take_choice(choices[0])

    def _take_choice(self, choice: dict[str, Any]) -> None:
        said = choice.get("delta") or choice.get("message")
        if isinstance(said, dict):
            self._text.append(_text(said.get("content")))
            self._refusal.append(_text(said.get("refusal")))
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]

    def so_far(self) -> str:
        return _whole("".join(self._text))

    def heard_stream(self) -> Heard:
        # A last event may lack the blank line after it.
        self._take_line(self._rest.rstrip(b"\r"))
        self._take_line(b"")
        if not self._choices:
            raise Garbled("a stream without choices")
        if self.finish is None:
            raise Garbled("a stream that was cut before its end")
        return self._heard()

    def heard_object(self) -> Heard:
        if not self._choices:
            raise Garbled("an answer without choices")
        return self._heard()

    def _heard(self) -> Heard:
        text, refusal = _whole("".join(self._text)), _whole("".join(self._refusal))
        return Heard(text, refusal, self.finish, self._model, self.usage or NO_USAGE)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _usage(usage: dict[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(cached or usage.get("prompt_cache_hit_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _whole(text: str) -> str:
    """Joins the halves of a character that came in two pieces; no half is left alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
