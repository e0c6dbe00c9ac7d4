"""Events: what happened, one small type per fact, written with the step that made it true."""

import json
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializeAsAny

from core.domain.critique import Critique
from core.domain.steps import Step
from core.domain.task import (
    Complexity,
    Kind,
    Phase,
    Reason,
    Task,
    TaskId,
    TaskStatus,
    Verdict,
)

SCHEMA = 1
"""Version of the stored shape; readers take any version up to this one."""


class EventType(StrEnum):
    REQUEST_ADDED = "request_added"
    TASK_ADDED = "task_added"
    IDEA_PROMOTED = "idea_promoted"
    TASK_CLAIMED = "task_claimed"
    REQUEST_DECOMPOSED = "request_decomposed"
    ITERATION_ENDED = "iteration_ended"
    TASK_SUBMITTED = "task_submitted"
    CRITIQUE_ADDED = "critique_added"
    CRITIQUE_CAME_LATE = "critique_came_late"
    ADVICE_MISSED = "advice_missed"
    CRITIQUE_WENT_STALE = "critique_went_stale"
    TASK_SETTLED = "task_settled"
    REQUEST_CLOSED = "request_closed"
    TASK_LET_GO = "task_let_go"
    TASK_SIGNALLED = "task_signalled"
    TASK_FAILED = "task_failed"
    TASK_TIMED_OUT = "task_timed_out"
    TASK_MERGED = "task_merged"
    MERGE_CONFLICTED = "merge_conflicted"
    MERGE_FAILED = "merge_failed"
    TASK_APPROVED = "task_approved"
    TASK_CLOSED_UNMERGED = "task_closed_unmerged"
    TASK_REJECTED = "task_rejected"
    TASK_REVOKED = "task_revoked"
    TASK_REDONE = "task_redone"
    TASK_DEFERRED = "task_deferred"
    TASK_REOPENED = "task_reopened"
    TASK_RETRIED = "task_retried"
    BUDGET_SPENT = "budget_spent"
    PARTIALLY_ANSWERED = "partially_answered"
    TASK_CANCELLED = "task_cancelled"
    DEPENDENCY_LOST = "dependency_lost"
    DEPENDENCY_CAME_BACK = "dependency_came_back"
    TASK_WENT_STALE = "task_went_stale"
    PARENT_OPENED = "parent_opened"
    ANSWER_RESTORED = "answer_restored"
    MAIL_SENT = "mail_sent"
    MAIL_TAKEN = "mail_taken"
    MAIL_RETURNED = "mail_returned"
    MAIL_ACKNOWLEDGED = "mail_acknowledged"
    MAIL_WITHDRAWN = "mail_withdrawn"
    MAIL_DIED = "mail_died"
    UNKNOWN = "unknown"
    """Written by another version of Swarm; its data is not read."""


EVENT_OF: dict[Step, EventType] = {
    Step.ADD: EventType.TASK_ADDED,
    Step.PROMOTE: EventType.IDEA_PROMOTED,
    Step.CLAIM_NEXT: EventType.TASK_CLAIMED,
    Step.CLAIM_CRITIQUE: EventType.TASK_CLAIMED,
    Step.CLAIM_CLOSE_OUT: EventType.TASK_CLAIMED,
    Step.CLAIM_MERGE: EventType.TASK_CLAIMED,
    Step.DECOMPOSE: EventType.REQUEST_DECOMPOSED,
    Step.ITERATE: EventType.ITERATION_ENDED,
    Step.SUBMIT: EventType.TASK_SUBMITTED,
    Step.ADD_CRITIQUE: EventType.CRITIQUE_ADDED,
    Step.NO_ADVICE: EventType.ADVICE_MISSED,
    Step.STALE_CRITIQUE: EventType.CRITIQUE_WENT_STALE,
    Step.CLOSE_OUT: EventType.REQUEST_CLOSED,
    Step.LET_GO: EventType.TASK_LET_GO,
    Step.SIGNAL: EventType.TASK_SIGNALLED,
    Step.FAIL: EventType.TASK_FAILED,
    Step.TIMEOUT: EventType.TASK_TIMED_OUT,
    Step.MERGED: EventType.TASK_MERGED,
    Step.CONFLICT: EventType.MERGE_CONFLICTED,
    Step.MERGE_FAILED: EventType.MERGE_FAILED,
    Step.APPROVE: EventType.TASK_APPROVED,
    Step.CLOSE_UNMERGED: EventType.TASK_CLOSED_UNMERGED,
    Step.REJECT: EventType.TASK_REJECTED,
    Step.REVOKE: EventType.TASK_REVOKED,
    Step.REDO: EventType.TASK_REDONE,
    Step.DEFER: EventType.TASK_DEFERRED,
    Step.REOPEN: EventType.TASK_REOPENED,
    Step.RETRY: EventType.TASK_RETRIED,
    Step.BUDGET: EventType.BUDGET_SPENT,
    Step.PARTIAL_ANSWER: EventType.PARTIALLY_ANSWERED,
    Step.CANCEL: EventType.TASK_CANCELLED,
    Step.DEPENDENCY_LOST: EventType.DEPENDENCY_LOST,
    Step.DEPENDENCY_BACK: EventType.DEPENDENCY_CAME_BACK,
    Step.STALE: EventType.TASK_WENT_STALE,
    Step.PARENT_OPENED: EventType.PARENT_OPENED,
    Step.RESTORE: EventType.ANSWER_RESTORED,
}


class Fact(BaseModel):
    """What an event says; unknown fields of a newer writer are left aside."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TaskFact(Fact):
    """The fields that a step changed, of those that tell a task's story."""

    kind: Kind | None = None
    status: TaskStatus | None = None
    reason: Reason | None = None
    came_from: TaskStatus | None = None
    phase: Phase | None = None
    agent: str | None = None
    fence: int | None = None
    round: int | None = None
    attempts: int | None = None
    iterations: int | None = None
    critique_round: int | None = None
    verdict: Verdict | None = None
    needs_attention: bool | None = None
    auto_approved: bool | None = None
    merged: bool | None = None
    cancel_wanted: bool | None = None
    result_hash: str | None = None
    answers: int | None = None


class AddedFact(TaskFact):
    title: str = ""
    parent: TaskId | None = None
    depends_on: tuple[TaskId, ...] = ()
    complexity: Complexity = Complexity.NORMAL


class DecomposedFact(TaskFact):
    children: tuple[TaskId, ...] = ()


class SubmittedFact(TaskFact):
    mail: int | None = None


class CritiqueFact(TaskFact):
    critique: Critique


class SaidFact(TaskFact):
    """A step that carries somebody's words."""

    text: str = ""


class MailFact(Fact):
    mail: int
    agent: str | None = None
    tries: int = 0


FACT_OF: dict[EventType, type[Fact]] = {
    EventType.REQUEST_ADDED: AddedFact,
    EventType.TASK_ADDED: AddedFact,
    EventType.REQUEST_DECOMPOSED: DecomposedFact,
    EventType.TASK_SUBMITTED: SubmittedFact,
    EventType.CRITIQUE_ADDED: CritiqueFact,
    EventType.CRITIQUE_CAME_LATE: CritiqueFact,
    EventType.TASK_LET_GO: SaidFact,
    EventType.TASK_SIGNALLED: SaidFact,
    EventType.TASK_FAILED: SaidFact,
    EventType.MERGE_CONFLICTED: SaidFact,
    EventType.MERGE_FAILED: SaidFact,
    EventType.TASK_APPROVED: SaidFact,
    EventType.TASK_REJECTED: SaidFact,
    EventType.TASK_REDONE: SaidFact,
    EventType.TASK_REOPENED: SaidFact,
    EventType.MAIL_SENT: MailFact,
    EventType.MAIL_TAKEN: MailFact,
    EventType.MAIL_RETURNED: MailFact,
    EventType.MAIL_ACKNOWLEDGED: MailFact,
    EventType.MAIL_WITHDRAWN: MailFact,
    EventType.MAIL_DIED: MailFact,
    EventType.UNKNOWN: Fact,
}

_KNOWN = frozenset(kind.value for kind in EventType)
TOLD = tuple(TaskFact.model_fields)
_TOLD = frozenset(TOLD)
_ENUMS = frozenset({"kind", "status", "reason", "came_from", "phase", "verdict"})


class Event(BaseModel):
    model_config = ConfigDict(frozen=True)

    v: int = SCHEMA
    seq: int
    ts: float
    type: EventType
    task: TaskId | None
    request: TaskId | None
    data: SerializeAsAny[Fact]

    def line(self) -> str:
        """One line of `--json`: data holds only what this event says."""
        data = self.data.model_dump(mode="json", exclude_unset=True)
        return json.dumps({**self.model_dump(mode="json", exclude={"data"}), "data": data})


def told(task: Task, changed: Iterable[str]) -> dict[str, Any]:
    """What an event says of a step that changed these fields."""
    names, members = _telling(tuple(changed))
    new = task.__dict__
    data = {name: new[name] for name in names}
    for name in members:
        if data[name] is not None:
            # JSON of a plain value costs a third of that of an enum's member.
            data[name] = data[name]._value_
    return data


@lru_cache(maxsize=1024)
def _telling(changed: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(name for name in changed if name in _TOLD)
    return names, tuple(name for name in names if name in _ENUMS)


def read_fact(v: int, event_type: str, data: str) -> tuple[EventType, Fact]:
    """A stored fact as this version understands it; types it does not know stay readable."""
    if event_type not in _KNOWN or v > SCHEMA:
        return EventType.UNKNOWN, Fact()
    known = EventType(event_type)
    return known, FACT_OF.get(known, TaskFact).model_validate_json(data)
