"""Rows to models and back; an empty column means the field's default."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from core.domain.events import Event, read_fact
from core.domain.message import Message, read_message
from core.domain.reply import KeptReply
from core.domain.task import FIELDS, Task, Usage, read_task
from core.errors import UnstorableText

MAIL_COLUMNS = tuple(Message.__dataclass_fields__)

_DEFAULTS = {field.name: field.default for field in fields(Task)}
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


def json_of(value: Any) -> str:
    try:
        return to_json(value).decode()
    except PydanticSerializationError as error:
        raise UnstorableText from error


def _json(value: Any) -> str | None:
    return json_of(value) if value else None


_plain = attrgetter("_value_")
"""Drivers look for an adapter for anything but a plain str: the plain value is cheaper."""


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
_FLAGS = tuple(field.name for field in fields(Task) if isinstance(field.default, bool))
ENCODE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((*_LISTS, *_MODELS), _json),
    **dict.fromkeys(_ENUMS, _plain),
    **dict.fromkeys(_FLAGS, int),
}
"""How a value that is not None is stored."""
SPOKEN = frozenset({"title", "description", "type", "result", "message", "agent", "executor"})
"""Columns for words from outside, as they came."""
_JSON_COLUMNS = tuple((FIELDS.index(name), name) for name in (*_LISTS, *_MODELS))


def new_columns(task: Task) -> tuple[str, ...]:
    """The columns a new task needs: what is always asked for, and what is not the default."""
    new = task.__dict__
    said = task.changed if task.version == 1 and task.changed else FIELDS
    names = [name for name in said if new[name] is not _DEFAULTS[name]]
    return tuple(dict.fromkeys((*_ALWAYS_SET, *names)))


def task_of(row: Sequence[Any]) -> Task:
    """A row that begins with the fields of a task."""
    values = {name: value for name, value in zip(FIELDS, row, strict=False) if value is not None}
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
        None if mail.to_role is None else mail.to_role._value_,
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


def event_of(row: Sequence[Any]) -> Event:
    seq, v, ts, event_type, task, request, data = row
    known, fact = read_fact(v, event_type, data)
    return Event(v=v, seq=seq, ts=ts, type=known, task=task, request=request, data=fact)


def reply_row(reply: KeptReply, now: float) -> tuple[Any, ...]:
    used = reply.usage
    said = (reply.task, reply.root, reply.label, reply.agent, reply.model)
    cost = (used.input_tokens, used.output_tokens, used.cost_usd)
    return (*said, reply.key, reply.prompt, reply.text, *cost, now)


def reply_of(row: Sequence[Any]) -> KeptReply:
    task, root, label, agent, model, key, prompt, text, *cost, ts, discarded, number = row
    usage = Usage(input_tokens=cost[0], output_tokens=cost[1], cost_usd=cost[2])
    said = (task, root, label, agent, model, key, prompt, text)
    return KeptReply(*said, usage, ts, bool(discarded), number)
