"""A model on this machine: loaded once, cancelled at once, freed at the end."""

import importlib
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx2
import openai
import pytest
from pydantic import BaseModel, Field

from core.clock import SystemClock
from core.domain.limits import Limits
from core.errors import NotOnThisMachine
from core.llm import embedded
from core.llm.client import Call, Said
from core.llm.embedded import Embedded, load
from tests.support.small_model import small_model

CANCEL_SECONDS = 0.5
HELLO = Call("any", (Said("user", "Say hello."),), max_output_tokens=64)


class Colour(BaseModel):
    name: Annotated[str, Field(min_length=3, max_length=12)]


@asynccontextmanager
async def loaded() -> AsyncIterator[Embedded]:
    with anyio.fail_after(120):
        model = await load(small_model(), 1024, Limits(), SystemClock())
        try:
            yield model
        finally:
            await model.close()


async def test_it_answers_and_keeps_to_a_shape_that_was_asked_for() -> None:
    async with loaded() as model:
        said = await model.ask(HELLO._replace(schema=Colour, temperature=0.0))

    assert 3 <= len(json.loads(said.text)["name"]) <= 12
    assert said.usage.input_tokens > 0
    assert said.usage.output_tokens > 0
    assert model.seconds > 0


async def test_calls_that_are_cancelled_end_at_once_and_the_model_stops_working_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wishes = embedded._wishes

    def counting(*asked: Any) -> Any:
        wished = wishes(*asked)
        wished.endpoint_metrics = True
        return wished

    monkeypatch.setattr(embedded, "_wishes", counting)
    endless = Call("any", (Said("user", "Tell a story of 3000 words."),), max_output_tokens=900)
    async with loaded() as model:
        async with anyio.create_task_group() as calls:
            for _ in range(embedded.SLOTS):
                calls.start_soon(model.ask, endless)
            await _until_at_work(model, embedded.SLOTS)
            began = anyio.current_time()
            calls.cancel_scope.cancel()
        ended = anyio.current_time()
        await _until_at_work(model, 0)
        idle = anyio.current_time()

    assert ended - began < 2 * CANCEL_SECONDS
    assert idle - began < 4 * CANCEL_SECONDS


async def _until_at_work(model: Embedded, calls: int) -> None:
    wanted = f"llamacpp:requests_processing {calls}\n"
    while wanted not in await anyio.to_thread.run_sync(_metrics, model):
        pass


def _metrics(model: Embedded) -> str:
    return str(model._server.handle_metrics())


async def test_its_port_is_closed_to_whoever_has_not_the_key() -> None:
    async with loaded() as model, httpx2.AsyncClient(trust_env=False) as stranger:
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        answer = await stranger.post(f"{model.url}/chat/completions", json=body)
        slots = await stranger.get(f"{model.url.removesuffix('/v1')}/slots")

    assert urlsplit(model.url).hostname == "127.0.0.1"
    assert answer.status_code == 401
    assert slots.status_code in (401, 404, 501)


async def test_the_official_client_of_openai_is_served_too() -> None:
    async with loaded() as model:
        client = openai.AsyncOpenAI(base_url=model.url, api_key=model.key)
        listed = [one.id async for one in client.models.list()]
        said = await client.chat.completions.create(
            model=listed[0], messages=[{"role": "user", "content": "Say hello."}], max_tokens=8
        )
        await client.close()

    assert listed == ["smollm2-135m"]
    assert said.choices[0].message.content


async def test_the_end_frees_its_memory_and_its_port() -> None:
    before = embedded._memory_bytes()
    async with loaded() as model:
        await model.ask(HELLO._replace(schema=Colour))
        during = embedded._memory_bytes()
    after = embedded._memory_bytes()

    assert during - before > 100_000_000
    assert after - before < (during - before) / 2
    with socket.socket() as knock:
        assert knock.connect_ex(("127.0.0.1", urlsplit(model.url).port or 0)) != 0


async def test_nothing_else_stands_still_while_it_is_loaded() -> None:
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            began = anyio.current_time()
            await anyio.lowlevel.checkpoint()
            longest = max(longest, anyio.current_time() - began)
            await anyio.sleep(0.005)

    file = small_model()
    importlib.import_module("xllamacpp")
    async with anyio.create_task_group() as beside:
        beside.start_soon(tick)
        model = await load(file, 1024, Limits(), SystemClock())
        beside.cancel_scope.cancel()
    await model.close()

    assert longest < model.seconds / 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "can't be read: no such file"),
        (b"just a text", "is no GGUF file"),
        (b"GGUF\x03\x00\x00\x00 and then nothing of it", "can't be loaded"),
    ],
    ids=["missing", "another kind", "broken"],
)
async def test_a_file_that_can_not_be_loaded_is_one_sentence(
    data: bytes | None, words: str, tmp_path: Path
) -> None:
    small_model()
    file = tmp_path / "own.gguf"
    if data is not None:
        file.write_bytes(data)

    with pytest.raises(NotOnThisMachine, match=words) as refused:
        await load(file, 512, Limits(), SystemClock())

    assert "\n" not in str(refused.value)


async def test_without_its_package_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    (tmp_path / "own.gguf").write_bytes(b"GGUF")

    with pytest.raises(NotOnThisMachine, match=r"pip install 'swarm-crew\[local\]'"):
        await load(tmp_path / "own.gguf", 512, Limits(), SystemClock())
