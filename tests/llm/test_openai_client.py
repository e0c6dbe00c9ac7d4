"""OpenAIClient against a real server on this machine that misbehaves on purpose."""

import asyncio
import socket
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core.domain.limits import Limits
from core.domain.task import NO_USAGE, Usage
from core.errors import BadConfig, ModelError, ModelFailed, ModelOutage, ModelRefused
from core.llm.client import Call, Reply, Said
from core.llm.openai_client import OpenAIClient
from tests.support.openai_server import BROKEN_JSON, HTML, Answer, Brain, OpenAIServer, refused
from tests.support.openai_talk import KEY, QuickClock, talking

CALL = Call("model-a", (Said("system", "Be brief."), Said("user", "Hello?")))


def in_turn(*answers: Answer) -> Brain:
    """One answer after the other; the last one for ever."""
    rest = list(answers)
    return lambda _: rest.pop(0) if len(rest) > 1 else rest[0]


async def error_of(brain: Brain, call: Call = CALL, **limits: Any) -> ModelError:
    async with talking(brain, **limits) as (client, _):
        with pytest.raises(ModelError) as caught:
            await client.ask(call)
    return caught.value


async def test_a_streamed_reply_comes_whole_with_its_usage() -> None:
    async with talking(lambda _: Answer("Grüße, 世界 \u2028!")) as (client, server):
        reply = await client.ask(CALL)

    assert reply == Reply("Grüße, 世界 \u2028!", "model-a", Usage(input_tokens=7, output_tokens=3))
    assert server.requests[0]["stream"] is True
    assert server.requests[0]["max_tokens"] == 4096
    assert server.requests[0]["authorization"] == f"Bearer {KEY}"


async def test_a_character_cut_in_two_by_the_stream_is_joined() -> None:
    async with talking(lambda _: Answer("\ud83d\ude00")) as (client, _):
        assert (await client.ask(CALL)).text == "😀"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    async with talking(lambda _: Answer("plain", stream=False)) as (client, _):
        assert await client.ask(CALL) == Reply(
            "plain", "model-a", Usage(input_tokens=7, output_tokens=3)
        )


async def test_missing_usage_stays_nothing() -> None:
    async with talking(lambda _: Answer("free", usage=None)) as (client, _):
        assert (await client.ask(CALL)).usage == NO_USAGE


async def test_calls_share_one_connection() -> None:
    async with talking(lambda _: Answer("again")) as (client, server):
        for _ in range(3):
            await client.ask(CALL)

        assert server.connections == 1


@pytest.mark.parametrize(
    "garbage",
    [
        HTML,
        BROKEN_JSON,
        Answer(raw=b"", content_type="application/json"),
        Answer(raw=b"[1]", content_type="application/json"),
        Answer(raw=b"data: {\n\n", content_type="text/event-stream"),
        Answer(choices=None),
        Answer(choices=[]),
        Answer(choices=None, stream=False),
        Answer(choices=[], stream=False),
        Answer(""),
        Answer(None, stream=False),
        Answer("half an ans", cut_after=2),
        Answer("half an ans", finish=None),
    ],
)
async def test_garbage_is_tried_again_and_fails_in_the_end(garbage: Answer) -> None:
    async with talking(in_turn(garbage, Answer("fine"))) as (client, _):
        assert (await client.ask(CALL)).text == "fine"

    assert isinstance(await error_of(lambda _: garbage), ModelFailed)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer("half", finish="length"), "raise limits.max_output_tokens"),
        (Answer("half", finish="length", stream=False), "raise limits.max_output_tokens"),
        (Answer("", finish="content_filter"), "content filter"),
        (Answer("", refusal="I can't."), "declined: I can't."),
        (refused(400, "too long", code="context_length_exceeded"), "context"),
    ],
)
async def test_some_failures_are_not_tried_again(answer: Answer, why: str) -> None:
    async with talking(lambda _: answer) as (client, server):
        with pytest.raises(ModelFailed, match=why):
            await client.ask(CALL)

    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_an_overloaded_server_is_tried_again_and_then_an_outage(status: int) -> None:
    async with talking(lambda _: refused(status, "busy")) as (client, server):
        with pytest.raises(ModelOutage, match=f"{status}: busy"):
            await client.ask(CALL)

    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "mend"),
    [
        (refused(401, f"Incorrect API key: {KEY}"), "check OPENAI_API_KEY"),
        (refused(403, f"{KEY} may not"), "check OPENAI_API_KEY"),
        (refused(404, "no such model"), "name a model the server has; see swarm doctor"),
        (refused(400, "x", code="model_not_found"), "name a model the server has"),
        (refused(429, "no money", code="insufficient_quota"), "add credit"),
        (refused(418, "a teapot"), "see swarm doctor"),
    ],
)
async def test_a_refusal_is_final_and_says_what_to_mend(answer: Answer, mend: str) -> None:
    async with talking(lambda _: answer) as (client, server):
        with pytest.raises(ModelRefused, match=mend) as caught:
            await client.ask(CALL)

    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)
    assert KEY not in repr(client)


async def test_no_part_of_a_key_is_left_in_an_error() -> None:
    error = await error_of(lambda _: refused(403, "key sk-ver*****6789 \x1b[31m is old"))

    assert "sk-ver" not in str(error)
    assert "6789" not in str(error)
    assert "\x1b" not in str(error)


async def test_an_error_in_the_middle_of_a_stream_is_judged_by_its_code() -> None:
    body = b'data: {"error": {"message": "upstream is down", "code": 502}}\n\n'
    error = await error_of(lambda _: Answer(raw=body, content_type="text/event-stream"))

    assert isinstance(error, ModelOutage)


@pytest.mark.parametrize("silent", [Answer(hang=True), Answer("half an ans", hang_after=2)])
async def test_silence_is_an_outage(silent: Answer) -> None:
    error = await error_of(
        lambda _: silent, first_token_seconds=0.05, silence_seconds=0.05, retries=1
    )

    assert isinstance(error, ModelOutage)
    assert "no word for 0.05 s" in str(error)


async def test_nobody_listening_is_an_outage_at_once() -> None:
    client = OpenAIClient(closed_port(), KEY, Limits(retries=1), QuickClock())
    try:
        with pytest.raises(ModelOutage):
            await client.ask(CALL)
        with pytest.raises(ModelOutage):
            await client.check()
    finally:
        await client.close()


def closed_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


FINE = Answer("fine")


async def test_retry_after_is_honoured() -> None:
    clock = QuickClock()
    busy = refused(429, "slow down", headers={"Retry-After": "7"})
    async with talking(in_turn(busy, FINE), clock) as (client, _):
        await client.ask(CALL)

    assert clock.waits == [7]


async def test_no_more_calls_run_at_once_than_max_parallel() -> None:
    gate = asyncio.Event()
    async with talking(lambda _: Answer("ok", wait_for=gate), max_parallel=2) as (client, server):
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(client.ask, CALL)
            while server.in_flight < 2:
                await anyio.lowlevel.checkpoint()
            gate.set()

        assert server.most_in_flight == 2
        assert len(server.requests) == 6


async def test_a_cancelled_call_hangs_up_at_once() -> None:
    async with talking(lambda _: Answer("half an ans", hang_after=2)) as (client, server):
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, CALL)
            await server.asked.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(2):
            await server.hung_up.wait()

        assert server.in_flight == 0


async def test_without_a_key_none_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with talking(lambda _: FINE, key=None) as (client, server):
        await client.ask(CALL)

    assert server.requests[0]["authorization"] is None


async def test_the_models_of_a_server_are_listed() -> None:
    async with talking(lambda _: FINE, models=("a", "b")) as (client, _):
        assert await client.models() == ["a", "b"]


@pytest.mark.parametrize("answer", [refused(404, "?"), refused(403, "scope"), HTML])
async def test_a_server_that_lists_no_models_passes_the_check(answer: Answer) -> None:
    async with talking(lambda _: FINE, models=answer) as (client, _):
        await client.check()


async def test_nothing_else_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: 1\nauthorization: Bearer another")
    async with talking(lambda _: Answer("fine")) as (client, server):
        await client.ask(CALL)

    (sent,) = server.headers
    assert sent["authorization"] == f"Bearer {KEY}"
    assert "x-secret" not in sent
    assert "mine" not in "".join(sent.values())


@pytest.mark.parametrize(
    ("answer", "error"),
    [(refused(401, "?"), ModelRefused), (refused(503, "?"), ModelOutage)],
)
async def test_the_check_finds_a_wrong_key_and_a_server_that_is_down(
    answer: Answer, error: type[ModelError]
) -> None:
    async with talking(lambda _: FINE, models=answer) as (client, _):
        with pytest.raises(error):
            await client.check()
        with pytest.raises(error):
            await client.models()


async def test_the_check_does_not_wait_for_a_silent_server() -> None:
    async with talking(lambda _: FINE, models=Answer(hang=True)) as (client, _):
        with pytest.raises(ModelOutage, match="no word"):
            await client.check(within_seconds=0.05)


@pytest.mark.parametrize("base_url", ["localhost:80/v1", "ftp://host", "http://", "http://a:b:c"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(BadConfig, match="OPENAI_BASE_URL"):
        OpenAIClient(base_url, KEY, Limits(), QuickClock())


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-schlüssel"])
def test_a_key_no_header_can_hold_is_refused_unquoted(key: str) -> None:
    with pytest.raises(BadConfig, match="OPENAI_API_KEY") as caught:
        OpenAIClient("http://127.0.0.1:1/v1", key, Limits(), QuickClock())

    assert key not in str(caught.value)


async def test_a_server_is_named_without_its_secrets() -> None:
    url = "http://me:secret@127.0.0.1:1/v1?token=secret"
    client = OpenAIClient(url, KEY, Limits(), QuickClock())

    assert client.server == "http://127.0.0.1:1/v1"
    assert "secret" not in repr(client)
    await client.close()


async def test_a_password_in_the_address_is_sent_but_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    async with OpenAIServer(lambda _: FINE).running() as server:
        url = server.url.replace("//", "//me:pa55@")
        client = OpenAIClient(url, None, Limits(), QuickClock())
        await client.ask(CALL)
        await client.close()

    assert server.requests[0]["authorization"] == "Basic bWU6cGE1NQ=="
    assert "pa55" not in caplog.text
    assert KEY not in caplog.text
