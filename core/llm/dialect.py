"""How a question is spelled for one model, and what its refusals teach about that."""

import json
import re
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel

from core.llm.client import Call


class Shape(IntEnum):
    """How a server is asked for a structured reply, the strongest way first."""

    JSON_SCHEMA = 0
    JSON_OBJECT = 1
    PROMPT = 2


class Dialect(NamedTuple):
    """What one model takes; starts with everything and unlearns what is refused."""

    shape: Shape = Shape.JSON_SCHEMA
    limit_name: str = "max_tokens"
    temperature: bool = True
    stream: bool = True
    usage_in_stream: bool = True


def spelled(call: Call, dialect: Dialect) -> dict[str, Any]:
    """The body of the request."""
    body: dict[str, Any] = {
        "model": call.model,
        "messages": _messages(call, dialect),
        dialect.limit_name: call.max_output_tokens,
        "stream": dialect.stream,
    }
    if dialect.stream and dialect.usage_in_stream:
        body["stream_options"] = {"include_usage": True}
    if call.temperature is not None and dialect.temperature:
        body["temperature"] = call.temperature
    if call.schema is not None:
        body |= _response_format(call.schema, dialect.shape)
    return body


def learned(dialect: Dialect, body: dict[str, Any], complaint: str) -> Dialect | None:
    """A dialect without what the complaint names; None when it names nothing we can leave out."""
    said = complaint.lower()
    if "stream_options" in body and re.search(r"stream_options|include_usage", said):
        return dialect._replace(usage_in_stream=False)
    if "response_format" in body and re.search(r"response_format|json|schema|structured", said):
        return dialect._replace(shape=Shape(dialect.shape + 1))
    # "max_tokens is too large" is about the number, not about the name.
    if "max_tokens" in body and "max_tokens" in said and not re.search("too large|at most", said):
        return dialect._replace(limit_name="max_completion_tokens")
    if "temperature" in body and "temperature" in said:
        return dialect._replace(temperature=False)
    if dialect.stream and re.search(r"\bstream(ing)?\b", said):
        return dialect._replace(stream=False)
    return None


def _messages(call: Call, dialect: Dialect) -> list[dict[str, str]]:
    messages = [{"role": said.role, "content": said.content} for said in call.messages]
    if call.schema is None or dialect.shape is Shape.JSON_SCHEMA:
        return messages
    wish = (
        "Answer with one JSON object and no other text. It has to fit this JSON schema:\n"
        + json.dumps(_schema(call.schema), ensure_ascii=False)
    )
    # In the last user message, because some models know no system role.
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += f"\n\n{wish}"
    else:
        messages.append({"role": "user", "content": wish})
    return messages


def _response_format(schema: type[BaseModel], shape: Shape) -> dict[str, Any]:
    if shape is Shape.PROMPT:
        return {}
    if shape is Shape.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", schema.__name__)[:64]
    # Not strict: that refuses defaults, bounds and open objects, and we check the reply ourselves.
    described = {"name": name, "schema": _schema(schema), "strict": False}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


@lru_cache(maxsize=64)
def _schema(schema: type[BaseModel]) -> dict[str, Any]:
    return schema.model_json_schema()
