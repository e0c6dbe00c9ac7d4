"""The table of steps: from which place a task may move, by which step, to which places."""

from enum import StrEnum
from typing import Any

from core.domain.task import Kind, Phase, Reason, Task, TaskStatus
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
    Step.STALE_CRITIQUE: {_P.CRITIQUE: _SETTLE},
    Step.CLAIM_CLOSE_OUT: {_P.WAITING: (_P.CLAIMED_CLOSE_OUT,)},
    Step.CLOSE_OUT: {_P.CLAIMED_CLOSE_OUT: (_P.COMPLETED, _P.NOTHING_COMPLETED)},
    Step.LET_GO: {
        _P.CLAIMED_PLAN: (_P.PENDING, _P.FAILED),
        _P.CLAIMED_WORK: (_P.PENDING, _P.FAILED),
        _P.CLAIMED_FIX: (_P.CRITIQUE, *_SETTLE),
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

_BY_PHASE = {
    Phase.PLAN: _P.CLAIMED_PLAN,
    Phase.WORK: _P.CLAIMED_WORK,
    Phase.FIX: _P.CLAIMED_FIX,
    Phase.CLOSE_OUT: _P.CLAIMED_CLOSE_OUT,
}
_BY_BLOCK = {
    Reason.BLOCKED: _P.BLOCKED_QUESTION,
    Reason.NEEDS_HUMAN: _P.BLOCKED_QUESTION,
    Reason.REJECTED: _P.BLOCKED_REJECTED,
    Reason.DEPENDENCY: _P.BLOCKED_DEPENDENCY,
    Reason.BUDGET: _P.BLOCKED_BUDGET,
}
_BY_STATUS = {
    TaskStatus.PENDING: _P.PENDING,
    TaskStatus.WAITING: _P.WAITING,
    TaskStatus.REVIEW: _P.REVIEW,
    TaskStatus.CRITIQUE: _P.CRITIQUE,
    TaskStatus.HUMAN_REVIEW: _P.HUMAN_REVIEW,
    TaskStatus.MERGING: _P.MERGING,
    TaskStatus.COMPLETED: _P.COMPLETED,
    TaskStatus.FAILED: _P.FAILED,
    TaskStatus.DEFERRED: _P.DEFERRED,
    TaskStatus.CANCELLED: _P.CANCELLED,
}


def place_of(task: Task) -> Place:
    status = task.status
    if status is TaskStatus.CLAIMED and task.phase is not None:
        return _BY_PHASE[task.phase]
    if status is TaskStatus.BLOCKED and task.reason is not None:
        return _BY_BLOCK[task.reason]
    place = _BY_STATUS[status]
    if place is _P.PENDING and task.kind is Kind.IDEA:
        return _P.IDEA
    if place is _P.FAILED and task.reason is Reason.NOTHING_COMPLETED:
        return _P.NOTHING_COMPLETED
    if place is _P.MERGING and task.phase is Phase.MERGE:
        return _P.MERGE_BEGUN
    return place


def allow(task: Task, step: Step, *, when: bool = True, why: str = "") -> None:
    """Refuse the step unless the table has it from here and `when` holds."""
    place = place_of(task)
    if place not in TABLE[step]:
        raise IllegalTransition(task.id, place, step)
    if not when:
        raise IllegalTransition(task.id, place, step, why)


def moved(task: Task, step: Step, /, **changes: Any) -> Task:
    """The task after the step, one version on; a move the table does not have is refused."""
    after = task.model_copy(update={**changes, "version": task.version + 1})
    origin, target = place_of(task), place_of(after)
    if target not in TABLE[step].get(origin, ()):
        raise IllegalTransition(task.id, origin, step)
    return after
