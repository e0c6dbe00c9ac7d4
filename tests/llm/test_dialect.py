"""What a model does not take is left out, and remembered."""

from typing import Any

import pytest
from pydantic import BaseModel

from core.llm.client import Call, Said
from tests.support.openai_server import Answer, Brain, refused
from tests.support.openai_talk import talking


class Shape(BaseModel):
    name: str


CALL = Call("model-a", (Said("system", "Be brief."), Said("user", "Hello?")))
SHAPED = CALL._replace(schema=Shape)
FINE = Answer("fine")


def without(*, response_formats: tuple[str, ...]) -> Brain:
    def brain(asked: dict[str, Any]) -> Answer:
        wanted = (asked.get("response_format") or {}).get("type")
        if wanted in response_formats:
            return refused(400, f"'response_format.type' {wanted} is not supported")
        return Answer('{"name": "x"}')

    return brain


async def test_a_schema_is_sent_as_json_schema_first() -> None:
    async with talking(without(response_formats=())) as (client, server):
        await client.ask(SHAPED)

    wanted = server.requests[0]["response_format"]["json_schema"]
    assert wanted["schema"] == Shape.model_json_schema()
    assert server.requests[0]["messages"][-1]["content"] == "Hello?"


async def test_the_ladder_is_climbed_down_once_and_remembered() -> None:
    brain = without(response_formats=("json_schema", "json_object"))
    async with talking(brain) as (client, server):
        await client.ask(SHAPED)
        await client.ask(SHAPED)

    kinds = [(one.get("response_format") or {}).get("type") for one in server.requests]
    assert kinds == ["json_schema", "json_object", None, None]
    assert '"name"' in server.requests[1]["messages"][-1]["content"]
    assert '"name"' in server.requests[3]["messages"][-1]["content"]


async def test_what_one_model_refuses_another_is_still_asked() -> None:
    async with talking(without(response_formats=("json_schema",))) as (client, server):
        await client.ask(SHAPED)
        await client.ask(SHAPED._replace(model="model-b"))

    assert server.requests[2]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("name", "complaint", "check"),
    [
        ("max_tokens", "Use max_completion_tokens, not max_tokens", "max_completion_tokens"),
        ("temperature", "Unsupported value: temperature", "max_tokens"),
        ("stream_options", "unknown field stream_options", "stream"),
    ],
)
async def test_a_refused_parameter_is_left_out_from_then_on(
    name: str, complaint: str, check: str
) -> None:
    def brain(asked: dict[str, Any]) -> Answer:
        return refused(400, complaint) if name in asked else Answer("fine")

    async with talking(brain) as (client, server):
        for _ in range(2):
            await client.ask(CALL._replace(temperature=0.2))

    assert [name in one for one in server.requests] == [True, False, False]
    assert server.requests[2][check]


async def test_a_model_that_must_not_stream_is_asked_without() -> None:
    def brain(asked: dict[str, Any]) -> Answer:
        return refused(400, "not verified to stream", param="stream") if asked["stream"] else FINE

    async with talking(brain) as (client, server):
        await client.ask(CALL)
        await client.ask(CALL)

    assert [one["stream"] for one in server.requests] == [True, False, False]


async def test_a_details_list_of_a_422_is_understood() -> None:
    detail = {"detail": [{"loc": ["body", "stream_options"], "msg": "extra", "input": "json"}]}

    def brain(asked: dict[str, Any]) -> Answer:
        return Answer(status=422, error=detail) if "stream_options" in asked else FINE

    async with talking(brain) as (client, server):
        await client.ask(SHAPED)

    assert server.requests[1]["response_format"]["type"] == "json_schema"
