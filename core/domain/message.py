"""Messages: mail between agents, taken under a lease, handled at least once."""

from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from core.domain.agent import Role
from core.domain.frozen import evolve
from core.domain.limits import Limits
from core.domain.reports import Holder
from core.domain.task import REVIEW, AgentName, Task, TaskId
from core.errors import MailLost


class MessageKind(StrEnum):
    CRITIQUE_REQUEST = "critique_request"
    NOTE = "note"

    @classmethod
    def _missing_(cls, value: object) -> "MessageKind | None":
        return cls.CRITIQUE_REQUEST if value == "review_request" else None


class MailStatus(StrEnum):
    QUEUED = "queued"
    TAKEN = "taken"
    ACKNOWLEDGED = "acknowledged"
    WITHDRAWN = "withdrawn"
    DEAD = "dead"


_QUEUED, _TAKEN = MailStatus.QUEUED, MailStatus.TAKEN
OPEN = frozenset({_QUEUED, _TAKEN})


@dataclass(frozen=True)
class Message:
    """To one agent, or to whoever of a role takes it first."""

    kind: MessageKind
    number: int = 0
    """Given when it is sent."""
    to_agent: AgentName | None = None
    to_role: Role | None = None
    not_for: tuple[AgentName, ...] = ()
    sender: AgentName | None = None
    task: TaskId | None = None
    root: TaskId | None = None
    result_hash: str | None = None
    cycle: int | None = None
    body: str = ""
    created: float = 0.0
    status: MailStatus = MailStatus.QUEUED
    holder: str | None = None
    agent: AgentName | None = None
    fence: int = 0
    lease_until: float | None = None
    tries: int = 0


read_message = TypeAdapter(Message).validate_python

_CRITIQUE_REQUEST = Message(kind=MessageKind.CRITIQUE_REQUEST, to_role=Role.ADVISOR)


def critique_request(task: Task, now: float) -> Message:
    """Ask the advisors for an opinion on the result the task has now."""
    return evolve(
        _CRITIQUE_REQUEST,
        {
            "not_for": task.worked_on_by,
            "sender": task.executor,
            "task": task.id,
            "root": task.root,
            "result_hash": task.result_hash,
            "cycle": task.critique_round + 1,
            "created": now,
        },
    )


def take(message: Message, holder: Holder, now: float, limits: Limits) -> Message:
    """Take a queued mail under a lease."""
    if message.status is not _QUEUED:
        raise MailLost(message.number)
    changes = {
        "status": _TAKEN,
        "holder": holder.process,
        "agent": holder.agent,
        "fence": message.fence + 1,
        "lease_until": now + limits.lease_seconds,
        "tries": message.tries + 1,
    }
    return evolve(message, changes)


def hold(message: Message, fence: int) -> None:
    """Refuse a write under any but the lease that is running."""
    if message.status is not _TAKEN or message.fence != fence:
        raise MailLost(message.number)


def renew(message: Message, fence: int, now: float, limits: Limits) -> Message:
    hold(message, fence)
    return evolve(message, {"lease_until": now + limits.lease_seconds})


def give_back(message: Message, limits: Limits, *, counted: bool) -> Message:
    """Back in the queue; after too many tries it is a dead letter. A stop does not count."""
    tries = message.tries if counted else message.tries - 1
    dead = tries >= limits.mail_tries
    status = MailStatus.DEAD if dead else MailStatus.QUEUED
    return _released(message, {"status": status, "tries": tries})


def acknowledge(message: Message, fence: int) -> Message:
    """Handled; to be written in the transaction of its effect."""
    hold(message, fence)
    return _released(message, {"status": MailStatus.ACKNOWLEDGED})


def withdraw(message: Message) -> Message:
    """What it asked for is not wanted any more."""
    return _released(message, {"status": MailStatus.WITHDRAWN})


def _released(message: Message, changes: dict[str, Any]) -> Message:
    if message.holder is not None:
        changes |= {"holder": None, "agent": None, "lease_until": None, "fence": message.fence + 1}
    return evolve(message, changes)


def answers(mail: Message, fence: int, task: Task) -> bool:
    """The mail asks for the current review of the task and is held under this fence."""
    return (
        mail.status is _TAKEN
        and mail.fence == fence
        and task.status is REVIEW
        and task.review_mail == mail.number
        and task.result_hash == mail.result_hash
        and task.critique_round + 1 == mail.cycle
    )
