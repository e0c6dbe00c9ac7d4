"""Rows to models and back; an empty column means the field's default."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import compress
from operator import is_not
from typing import Any

from pydantic_core import from_json, to_json

from core.domain.message import Message, read_message
from core.domain.task import FIELDS, Task, read_task

MAIL_COLUMNS = tuple(Message.__dataclass_fields__)

_DEFAULTS = tuple(field.default for field in Task.__dataclass_fields__.values())
_ALWAYS_SET = (
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
)

Values = dict[str, Any]


def _json(value: Any) -> str | None:
    return to_json(value).decode() if value else None


def _enum(value: Enum | None) -> Any:
    # Drivers look for an adapter for anything but a plain str: the plain value is cheaper.
    return None if value is None else value._value_


def _flag(value: bool) -> int:
    return 1 if value else 0


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
_FLAGS = tuple(
    name for name, field in Task.__dataclass_fields__.items() if isinstance(field.default, bool)
)
_ENCODE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((*_LISTS, *_MODELS), _json),
    **dict.fromkeys(_ENUMS, _enum),
    **dict.fromkeys(_FLAGS, _flag),
}
_JSON_COLUMNS = tuple((FIELDS.index(name), name) for name in (*_LISTS, *_MODELS))


def inserted(task: Task) -> Values:
    """The columns a new task needs: what is always asked for, and what is not the default."""
    row = task.__dict__
    names = compress(FIELDS, map(is_not, row.values(), _DEFAULTS))
    return changed(task, dict.fromkeys((*_ALWAYS_SET, *names)))


def changed(task: Task, names: Iterable[str]) -> Values:
    """The columns of these fields."""
    row = task.__dict__
    values = {name: _ENCODE[name](row[name]) if name in _ENCODE else row[name] for name in names}
    if "status" in values or "reason" in values:
        values["settled"] = _flag(task.settled)
    return values


def task_of(row: Sequence[Any]) -> Task:
    values = {name: value for name, value in zip(FIELDS, row, strict=True) if value is not None}
    for index, name in _JSON_COLUMNS:
        if row[index] is not None:
            values[name] = from_json(row[index])
    return read_task(values)


def mail_inserted(mail: Message) -> tuple[Any, ...]:
    """A value for each of MAIL_COLUMNS."""
    return (
        mail.kind._value_,
        mail.number,
        mail.to_agent,
        _enum(mail.to_role),
        names_in(mail.not_for),
        mail.sender,
        mail.task,
        mail.root,
        mail.result_hash,
        mail.cycle,
        mail.body,
        mail.created,
        *mail_state(mail),
    )


MAIL_STATE = ("status", "holder", "agent", "fence", "lease_until", "tries")
"""The columns of a mail that change after it was sent."""


def mail_state(mail: Message) -> tuple[Any, ...]:
    return (
        mail.status._value_,
        mail.holder,
        mail.agent,
        mail.fence,
        mail.lease_until,
        mail.tries,
    )


def names_in(names: Sequence[str]) -> str | None:
    """A list of names that SQL can search for one of them."""
    return f"|{'|'.join(names)}|" if names else None


def message_of(row: Sequence[Any]) -> Message:
    values = {
        name: value for name, value in zip(MAIL_COLUMNS, row, strict=True) if value is not None
    }
    if "not_for" in values:
        values["not_for"] = tuple(values["not_for"].strip("|").split("|"))
    return read_message(values)
