"""The table of steps: from which place a task may move, by which step, to which places."""

from enum import StrEnum
from typing import Any

from core.domain.frozen import amend, evolve
from core.domain.task import (
    BLOCKED,
    CANCELLED,
    CLAIMED,
    CLOSE_OUT,
    COMPLETED,
    CRITIQUE,
    DEFERRED,
    FAILED,
    FIX,
    HUMAN_REVIEW,
    MERGE,
    MERGING,
    PENDING,
    PLAN,
    REVIEW,
    WAITING,
    WORK,
    Kind,
    Phase,
    Reason,
    Task,
    TaskStatus,
)
from core.errors import IllegalTransition


class Step(StrEnum):
    ADD = "add"
    PROMOTE = "promote"
    CLAIM_NEXT = "claim_next"
    DECOMPOSE = "decompose"
    ITERATE = "iterate"
    SUBMIT = "submit"
    ADD_CRITIQUE = "add_critique"
    NO_ADVICE = "no_advice"
    CLAIM_CRITIQUE = "claim_critique"
    STALE_CRITIQUE = "stale_critique"
    CLAIM_CLOSE_OUT = "claim_close_out"
    CLOSE_OUT = "close_out"
    LET_GO = "let_go"
    SIGNAL = "signal"
    FAIL = "fail"
    TIMEOUT = "timeout"
    CLAIM_MERGE = "claim_merge"
    MERGED = "merged"
    CONFLICT = "conflict"
    MERGE_FAILED = "merge_failed"
    APPROVE = "approve"
    CLOSE_UNMERGED = "close_unmerged"
    REJECT = "reject"
    REVOKE = "revoke"
    REDO = "redo"
    DEFER = "defer"
    REOPEN = "reopen"
    RETRY = "retry"
    BUDGET = "budget"
    PARTIAL_ANSWER = "partial_answer"
    CANCEL = "cancel"
    # Conditions, not commands: applied until nothing changes, with the step that made them true.
    DEPENDENCY_LOST = "dependency_lost"
    DEPENDENCY_BACK = "dependency_back"
    STALE = "stale"
    PARENT_OPENED = "parent_opened"
    RESTORE = "restore"


class Place(StrEnum):
    """Where a task is: its status, and what of phase and reason the table tells apart."""

    NEW = "new"
    IDEA = "idea"
    PENDING = "pending"
    CLAIMED_PLAN = "claimed(plan)"
    CLAIMED_WORK = "claimed(work)"
    CLAIMED_FIX = "claimed(fix)"
    CLAIMED_CLOSE_OUT = "claimed(close_out)"
    WAITING = "waiting"
    REVIEW = "review"
    CRITIQUE = "critique"
    HUMAN_REVIEW = "human_review"
    MERGING = "merging"
    MERGE_BEGUN = "merging(merge)"
    COMPLETED = "completed"
    FAILED = "failed"
    NOTHING_COMPLETED = "failed(nothing_completed)"
    BLOCKED_QUESTION = "blocked(question)"
    BLOCKED_REJECTED = "blocked(rejected)"
    BLOCKED_DEPENDENCY = "blocked(dependency)"
    BLOCKED_BUDGET = "blocked(budget)"
    DEFERRED = "deferred"
    CANCELLED = "cancelled"


_P = Place
_SETTLE = (_P.HUMAN_REVIEW, _P.MERGING, _P.COMPLETED)
"""Where the review policy may send a task."""
_SETTLE_FORCED = (_P.HUMAN_REVIEW, _P.COMPLETED)
"""Forced code always goes to a person."""

_CLAIMS = (_P.CLAIMED_PLAN, _P.CLAIMED_WORK, _P.CLAIMED_FIX, _P.CLAIMED_CLOSE_OUT)

TABLE: dict[Step, dict[Place, tuple[Place, ...]]] = {
    Step.ADD: {_P.NEW: (_P.PENDING, _P.IDEA)},
    Step.PROMOTE: {_P.IDEA: (_P.PENDING,)},
    Step.CLAIM_NEXT: {_P.PENDING: (_P.CLAIMED_PLAN, _P.CLAIMED_WORK)},
    Step.DECOMPOSE: {_P.CLAIMED_PLAN: (_P.WAITING,)},
    Step.ITERATE: {
        _P.CLAIMED_WORK: (_P.CLAIMED_WORK, _P.FAILED),
        _P.CLAIMED_FIX: (_P.CLAIMED_FIX, _P.FAILED),
    },
    Step.SUBMIT: {
        _P.CLAIMED_WORK: (_P.REVIEW, *_SETTLE),
        _P.CLAIMED_FIX: (_P.REVIEW, *_SETTLE),
    },
    Step.ADD_CRITIQUE: {_P.REVIEW: (_P.CRITIQUE, *_SETTLE)},
    Step.NO_ADVICE: {_P.REVIEW: (_P.HUMAN_REVIEW,)},
    Step.CLAIM_CRITIQUE: {_P.CRITIQUE: (_P.CLAIMED_FIX,)},
    Step.STALE_CRITIQUE: {_P.CRITIQUE: _SETTLE_FORCED},
    Step.CLAIM_CLOSE_OUT: {_P.WAITING: (_P.CLAIMED_CLOSE_OUT,)},
    Step.CLOSE_OUT: {_P.CLAIMED_CLOSE_OUT: (_P.COMPLETED, _P.NOTHING_COMPLETED)},
    Step.LET_GO: {
        _P.CLAIMED_PLAN: (_P.PENDING, _P.FAILED),
        _P.CLAIMED_WORK: (_P.PENDING, _P.FAILED),
        _P.CLAIMED_FIX: (_P.CRITIQUE, *_SETTLE_FORCED),
        _P.CLAIMED_CLOSE_OUT: (_P.WAITING, _P.FAILED),
        _P.MERGE_BEGUN: (_P.MERGING, _P.HUMAN_REVIEW, _P.CANCELLED),
    },
    Step.SIGNAL: dict.fromkeys(_CLAIMS, (_P.BLOCKED_QUESTION,)),
    Step.FAIL: dict.fromkeys(_CLAIMS, (_P.FAILED,)),
    Step.TIMEOUT: {
        _P.CLAIMED_PLAN: (_P.FAILED,),
        _P.CLAIMED_WORK: (_P.HUMAN_REVIEW, _P.FAILED),
        _P.CLAIMED_FIX: (_P.HUMAN_REVIEW,),
        _P.CLAIMED_CLOSE_OUT: (_P.FAILED,),
    },
    Step.CLAIM_MERGE: {_P.MERGING: (_P.MERGE_BEGUN,)},
    Step.MERGED: {_P.MERGE_BEGUN: (_P.COMPLETED,)},
    Step.CONFLICT: {_P.MERGE_BEGUN: (_P.PENDING, _P.HUMAN_REVIEW, _P.CANCELLED)},
    Step.MERGE_FAILED: {_P.MERGE_BEGUN: (_P.HUMAN_REVIEW, _P.CANCELLED)},
    Step.APPROVE: {
        _P.HUMAN_REVIEW: (_P.MERGING, _P.COMPLETED),
        _P.COMPLETED: (_P.COMPLETED,),
    },
    Step.CLOSE_UNMERGED: {_P.HUMAN_REVIEW: (_P.COMPLETED,)},
    Step.REJECT: {_P.HUMAN_REVIEW: (_P.BLOCKED_REJECTED,)},
    Step.REVOKE: {_P.COMPLETED: (_P.HUMAN_REVIEW,)},
    Step.REDO: {_P.HUMAN_REVIEW: (_P.PENDING,), _P.COMPLETED: (_P.PENDING, _P.WAITING)},
    Step.DEFER: {_P.PENDING: (_P.DEFERRED,), _P.HUMAN_REVIEW: (_P.DEFERRED,)},
    Step.REOPEN: {
        _P.DEFERRED: (_P.PENDING, _P.HUMAN_REVIEW),
        _P.BLOCKED_REJECTED: (_P.PENDING,),
        _P.BLOCKED_QUESTION: (_P.PENDING, _P.CRITIQUE, _P.WAITING),
    },
    Step.RETRY: {
        _P.FAILED: (_P.PENDING, _P.CRITIQUE, _P.WAITING),
        _P.NOTHING_COMPLETED: (_P.WAITING,),
        _P.BLOCKED_BUDGET: (_P.PENDING, _P.WAITING),
    },
    Step.BUDGET: dict.fromkeys(
        (_P.PENDING, _P.WAITING, _P.CLAIMED_PLAN, _P.CLAIMED_CLOSE_OUT), (_P.BLOCKED_BUDGET,)
    ),
    Step.PARTIAL_ANSWER: {_P.BLOCKED_BUDGET: (_P.BLOCKED_BUDGET,)},
    Step.CANCEL: {
        # A merge that has begun is finished first.
        _P.MERGE_BEGUN: (_P.MERGE_BEGUN,),
        **{
            place: (_P.CANCELLED,)
            for place in _P
            if place not in (_P.NEW, _P.MERGE_BEGUN, _P.COMPLETED, _P.CANCELLED)
        },
    },
    Step.DEPENDENCY_LOST: {_P.PENDING: (_P.BLOCKED_DEPENDENCY,)},
    Step.DEPENDENCY_BACK: {_P.BLOCKED_DEPENDENCY: (_P.PENDING,)},
    Step.STALE: dict.fromkeys(
        (_P.CLAIMED_WORK, _P.CLAIMED_FIX, _P.REVIEW, _P.CRITIQUE, _P.HUMAN_REVIEW, _P.COMPLETED),
        (_P.PENDING,),
    ),
    Step.PARENT_OPENED: dict.fromkeys(
        (_P.COMPLETED, _P.FAILED, _P.NOTHING_COMPLETED, _P.CLAIMED_CLOSE_OUT, _P.BLOCKED_QUESTION),
        (_P.WAITING,),
    ),
    Step.RESTORE: {_P.WAITING: (_P.COMPLETED, _P.NOTHING_COMPLETED)},
}

CONDITIONS = frozenset(
    {
        Step.DEPENDENCY_LOST,
        Step.DEPENDENCY_BACK,
        Step.STALE,
        Step.PARENT_OPENED,
        Step.RESTORE,
    }
)

_AT_ONCE = {CRITIQUE: FIX, MERGING: MERGE}

_PLACES: dict[tuple[TaskStatus, Phase | None], Place] = {
    (PENDING, None): _P.PENDING,
    (CLAIMED, PLAN): _P.CLAIMED_PLAN,
    (CLAIMED, WORK): _P.CLAIMED_WORK,
    (CLAIMED, FIX): _P.CLAIMED_FIX,
    (CLAIMED, CLOSE_OUT): _P.CLAIMED_CLOSE_OUT,
    (WAITING, None): _P.WAITING,
    (REVIEW, None): _P.REVIEW,
    (CRITIQUE, None): _P.CRITIQUE,
    (HUMAN_REVIEW, None): _P.HUMAN_REVIEW,
    (MERGING, None): _P.MERGING,
    (MERGING, MERGE): _P.MERGE_BEGUN,
    (COMPLETED, None): _P.COMPLETED,
    (DEFERRED, None): _P.DEFERRED,
    (CANCELLED, None): _P.CANCELLED,
}
_BY_REASON: dict[tuple[TaskStatus, Reason | None], Place] = {
    (FAILED, Reason.NOTHING_COMPLETED): _P.NOTHING_COMPLETED,
    (BLOCKED, Reason.BLOCKED): _P.BLOCKED_QUESTION,
    (BLOCKED, Reason.NEEDS_HUMAN): _P.BLOCKED_QUESTION,
    (BLOCKED, Reason.REJECTED): _P.BLOCKED_REJECTED,
    (BLOCKED, Reason.DEPENDENCY): _P.BLOCKED_DEPENDENCY,
    (BLOCKED, Reason.BUDGET): _P.BLOCKED_BUDGET,
}
_PENDING, _IDEA, _FAILED, _IDEA_KIND = _P.PENDING, _P.IDEA, _P.FAILED, Kind.IDEA


def place_of(task: Task) -> Place:
    place = _PLACES.get((task.status, task.phase))
    if place is _PENDING and task.kind is _IDEA_KIND:
        return _IDEA
    if place is not None:
        return place
    return _BY_REASON.get((task.status, task.reason), _FAILED)


def allow(task: Task, step: Step, *, when: bool = True, why: str = "") -> None:
    """Refuse the step unless the table has it from here and `when` holds."""
    place = place_of(task)
    if place not in TABLE[step]:
        raise IllegalTransition(task.id, place, step)
    if not when:
        raise IllegalTransition(task.id, place, step, why)


def moved(task: Task, step: Step, /, **changes: Any) -> Task:
    """The task after the step, one version on; a move the table does not have is refused."""
    status = changes.get("status", task.status)
    held = changes.get("holder", task.holder) is not None
    changes["claimable"] = None if held else at_once(task, status)
    changes["version"] = task.version + 1
    old = task.__dict__
    changes["changed"] = [name for name, value in changes.items() if value is not old[name]]
    after = evolve(task, changes)
    origin = place_of(task)
    if place_of(after) not in TABLE[step].get(origin, ()):
        raise IllegalTransition(task.id, origin, step)
    return after


def also(after: Task, **changes: Any) -> Task:
    """What else the same step changes, as long as nobody has seen the task after it."""
    more = [name for name in changes if name not in after.changed]
    return amend(after, changes | {"changed": [*after.changed, *more]})


def at_once(task: Task, status: TaskStatus) -> Phase | None:
    """In which phase it can be claimed there whatever other tasks do; for all else they decide."""
    if status is PENDING and task.stands_alone:
        return WORK
    return _AT_ONCE.get(status)
