"""Task, the one noun everything is about, with its statuses, phases and ids."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import fields
from enum import IntEnum, StrEnum
from typing import ClassVar, NewType

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from core.domain.critique import Critique
from core.domain.feedback import Feedback

TaskId = NewType("TaskId", str)
AgentName = NewType("AgentName", str)

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


class Kind(StrEnum):
    REQUEST = "request"
    MILESTONE = "milestone"
    TASK = "task"
    IDEA = "idea"


class Complexity(StrEnum):
    SIMPLE = "simple"
    NORMAL = "normal"
    COMPLEX = "complex"


class TaskStatus(StrEnum):
    PENDING = "pending"
    CLAIMED = "claimed"
    WAITING = "waiting"
    REVIEW = "review"
    CRITIQUE = "critique"
    HUMAN_REVIEW = "human_review"
    MERGING = "merging"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    CANCELLED = "cancelled"


(
    PENDING,
    CLAIMED,
    WAITING,
    REVIEW,
    CRITIQUE,
    HUMAN_REVIEW,
    MERGING,
    COMPLETED,
    FAILED,
    BLOCKED,
    DEFERRED,
    CANCELLED,
) = TaskStatus
"""Their own names: on Python 3.11 `TaskStatus.PENDING` costs as much as calling a function, and
a step asks for dozens of statuses and phases."""


class Phase(StrEnum):
    """What a claim is for."""

    PLAN = "plan"
    WORK = "work"
    FIX = "fix"
    CLOSE_OUT = "close_out"
    MERGE = "merge"


PLAN, WORK, FIX, CLOSE_OUT, MERGE = Phase


class Reason(StrEnum):
    """Why a task is failed, blocked or with a person."""

    BLOCKED = "blocked"
    NEEDS_HUMAN = "needs_human"
    REJECTED = "rejected"
    DEPENDENCY = "dependency"
    BUDGET = "budget"
    ATTEMPTS = "attempts"
    MAX_ITERATIONS = "max_iterations"
    ERROR = "error"
    TIMEOUT = "timeout"
    NOTHING_COMPLETED = "nothing_completed"
    POLICY = "policy"
    FORCED = "forced"
    STALE = "stale"
    UNREADABLE = "unreadable"
    NEEDS_DISCUSSION = "needs_discussion"
    NO_ADVICE = "no_advice"
    CONFLICT = "conflict"
    MERGE_FAILED = "merge_failed"
    REVOKED = "revoked"


class Verdict(StrEnum):
    APPROVED = "APPROVED"
    REVISED = "REVISED"
    MAX_CYCLES_REACHED = "MAX_CYCLES_REACHED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    NEEDS_DISCUSSION = "NEEDS_DISCUSSION"


class Signal(StrEnum):
    """How an executor's reply ends."""

    COMPLETE = "COMPLETE"
    BLOCKED = "BLOCKED"
    NEEDS_HUMAN = "NEEDS_HUMAN"
    ERROR = "ERROR"


class Hint(IntEnum):
    """Where a person wants a task in the queue; sorts as it is claimed."""

    NEXT = 0
    NONE = 1
    LATER = 2


class Usage(BaseModel):
    """What a task has cost so far; a price nobody knows stays unknown."""

    model_config = ConfigDict(frozen=True)

    input_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those the server had read before."""
    output_tokens: int = 0
    cost_usd: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(known) if known else None,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Task:
    # A validated dataclass and not a BaseModel, whose attributes cost three times as much to read.
    id: TaskId
    root: TaskId
    title: str
    kind: Kind = Kind.TASK
    parent: TaskId | None = None
    description: str = ""
    type: str = "answer"
    code: bool = False
    depends_on: tuple[TaskId, ...] = ()
    tags: tuple[str, ...] = ()
    """A person's tags, inherited ones among them."""
    planner_tags: tuple[str, ...] = ()
    complexity: Complexity = Complexity.NORMAL
    auto_review: bool = False
    max_cycles: int = 3

    status: TaskStatus = TaskStatus.PENDING
    reason: Reason | None = None
    came_from: TaskStatus | None = None
    """Where a failed, blocked or deferred task goes back to."""
    claimable: Phase | None = None
    """The phase in which it may be claimed now; follows from the other fields and tasks."""

    phase: Phase | None = None
    holder: str | None = None
    agent: AgentName | None = None
    fence: int = 0
    lease_until: float | None = None
    claimed_at: float | None = None
    cancel_wanted: bool = False

    round: int = 1
    attempts: int = 0
    iterations: int = 0
    round_iterations: int = 0
    result: str | None = None
    result_hash: str | None = None
    result_round: int = 0
    inputs: dict[TaskId, str] = Field(default_factory=dict)
    executor: AgentName | None = None
    """Whose work the result is."""
    signal: Signal | None = None
    message: str = ""
    quality_passed: bool | None = None
    usage: Usage = NO_USAGE

    critique: Critique | None = None
    critique_round: int = 0
    review_mail: int | None = None
    worked_on_by: tuple[AgentName, ...] = ()
    """Everybody whose work is in the result of this round; none of them advises on it."""
    waited_idle_seconds: float = 0.0
    watched_at: float | None = None
    verdict: Verdict | None = None
    needs_attention: bool = False
    auto_approved: bool = False
    merged: bool = False
    conflicts: int = 0
    feedback: Feedback | None = None

    answered: str | None = None
    """Fingerprint of the children that the last answer was written from."""
    answered_as: TaskStatus | None = None
    accepted: str | None = None
    """Hash of the last result that was completed; it stays current until another is."""
    answers: int = 0
    """How many versions are kept beside the current result."""
    partial_answered: bool = False

    hint: Hint = Hint.NONE
    rank: str = ""
    depth: int = 0
    root_created: float = 0.0
    created: float = 0.0
    started: float | None = None
    completed_at: float | None = None
    version: int = 1

    changed: ClassVar[Sequence[str]] = ()
    """The fields that the step changed which made this version; of a task just read, none."""

    @property
    def settled(self) -> bool:
        """It needs nobody any more."""
        return self.status in _SETTLED or (self.status is BLOCKED and self.reason is _DEPENDENCY)

    @property
    def lost(self) -> bool:
        """Nothing more will come of it, for whoever depends on it."""
        return self.settled and self.status is not COMPLETED

    @property
    def is_container(self) -> bool:
        return self.kind in _CONTAINERS

    @property
    def stands_alone(self) -> bool:
        """No other task has a say in it."""
        return self.parent is None and not self.depends_on and not self.is_container

    @property
    def planned(self) -> bool:
        """A request or milestone whose plan was made."""
        return self.is_container and (self.came_from is WAITING or self.status in _AFTER_PLAN)


_CONTAINERS = frozenset({Kind.REQUEST, Kind.MILESTONE})
_DEPENDENCY = Reason.DEPENDENCY
_SETTLED = frozenset({COMPLETED, FAILED, CANCELLED})
_AFTER_PLAN = frozenset({WAITING, COMPLETED})


FIELDS = tuple(field.name for field in fields(Task))
read_task = TypeAdapter(Task).validate_python
"""A task from the values of its fields, checked; a field that is left out has its default."""


def hash_of(result: str) -> str:
    return hashlib.sha256(result.encode()).hexdigest()[:32]


def random_id(source: random.Random, length: int) -> TaskId:
    bits = source.getrandbits(5 * length)
    return TaskId("".join([CROCKFORD[bits >> shift & 31] for shift in range(0, 5 * length, 5)]))
