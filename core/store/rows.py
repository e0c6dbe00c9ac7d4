"""Rows to models and back; an empty column means the field's default."""

import json
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel

from core.domain.message import Message, NewMessage
from core.domain.task import Task

TASK_COLUMNS = tuple(Task.model_fields)
MAIL_COLUMNS = tuple(Message.model_fields)

_DEFAULTS = {name: field.default for name, field in Task.model_fields.items()}
_ALWAYS_SET = frozenset(
    [
        "id",
        "kind",
        "root",
        "title",
        "status",
        "waited_idle_seconds",
        "hint",
        "rank",
        "root_created",
        "version",
    ]
)

Values = dict[str, Any]


def _json(value: Any) -> str | None:
    return json.dumps(value) if value else None


def _model_json(value: BaseModel | None) -> str | None:
    return None if value is None else value.model_dump_json()


def _enum(value: Enum | None) -> Any:
    # Drivers look for an adapter for anything but a plain str: the plain value is cheaper.
    return None if value is None else value.value


_LISTS = ("depends_on", "tags", "planner_tags", "inputs", "worked_on_by")
_MODELS = ("usage", "critique", "feedback")
_ENUMS = (
    "kind",
    "complexity",
    "status",
    "reason",
    "came_from",
    "claimable",
    "phase",
    "signal",
    "verdict",
    "answered_as",
    "hint",
)
_ENCODE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_LISTS, _json),
    **dict.fromkeys(_MODELS, _model_json),
    **dict.fromkeys(_ENUMS, _enum),
}
_JSON_COLUMNS = tuple((TASK_COLUMNS.index(name), name) for name in (*_LISTS, *_MODELS))


def inserted(task: Task) -> Values:
    """The columns a new task needs."""
    values = {
        name: _encoded(name, value)
        for name, value in task.__dict__.items()
        if name in _ALWAYS_SET or value != _DEFAULTS[name]
    }
    values["settled"] = task.settled
    return values


def changed(before: Task, after: Task) -> Values:
    """The columns in which two versions of a task differ."""
    old = before.__dict__
    values = {
        name: _encoded(name, value)
        for name, value in after.__dict__.items()
        if value is not old[name] and value != old[name]
    }
    if before.settled != after.settled:
        values["settled"] = after.settled
    return values


def _encoded(name: str, value: Any) -> Any:
    encode = _ENCODE.get(name)
    return value if encode is None else encode(value)


def task_of(row: Sequence[Any]) -> Task:
    values = {
        name: value for name, value in zip(TASK_COLUMNS, row, strict=True) if value is not None
    }
    for index, name in _JSON_COLUMNS:
        if row[index] is not None:
            values[name] = json.loads(row[index])
    return Task.model_validate(values)


def mail_inserted(message: NewMessage | Message) -> Values:
    values = {name: _plain(value) for name, value in message.__dict__.items() if value is not None}
    values["not_for"] = names_in(message.not_for)
    return values


def mail_changed(before: Message, after: Message) -> Values:
    old = before.__dict__
    return {name: _plain(value) for name, value in after.__dict__.items() if value is not old[name]}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def names_in(names: Sequence[str]) -> str | None:
    """A list of names that SQL can search for one of them."""
    return f"|{'|'.join(names)}|" if names else None


def message_of(row: Sequence[Any]) -> Message:
    values = {
        name: value for name, value in zip(MAIL_COLUMNS, row, strict=True) if value is not None
    }
    if "not_for" in values:
        values["not_for"] = tuple(values["not_for"].strip("|").split("|"))
    return Message.model_validate(values)
