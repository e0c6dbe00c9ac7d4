"""The steps of people, of the merge queue and of the budget; each returns a new task or refuses."""

from typing import Any

from core.domain.feedback import Decision, Feedback
from core.domain.frozen import evolve
from core.domain.lifecycle import go_on, hold, origin, unclaimed
from core.domain.steps import Place, Step, allow, moved, place_of
from core.domain.task import (
    BLOCKED,
    CANCELLED,
    COMPLETED,
    DEFERRED,
    HUMAN_REVIEW,
    PENDING,
    WAITING,
    Hint,
    Kind,
    Reason,
    Task,
)

HINTS = {"next": Hint.NEXT, "normal": Hint.NONE, "later": Hint.LATER}


def new_round(task: Task, feedback: Feedback | None = None) -> dict[str, Any]:
    """Start over with what was learned; the old result stays until a new one is completed."""
    return {
        **unclaimed(task),
        "status": PENDING,
        "reason": None,
        "came_from": None,
        "round": task.round + 1,
        "attempts": 0,
        "round_iterations": 0,
        "critique": None,
        "critique_round": 0,
        "review_mail": None,
        "waited_idle_seconds": 0.0,
        "watched_at": None,
        "worked_on_by": (),
        "verdict": None,
        "needs_attention": False,
        "auto_approved": False,
        "merged": False,
        "conflicts": 0,
        "signal": None,
        "message": "",
        "quality_passed": None,
        "inputs": {},
        "feedback": feedback,
        "completed_at": None,
    }


def promote(task: Task) -> Task:
    """An idea becomes a task to be done."""
    allow(task, Step.PROMOTE)
    return moved(task, Step.PROMOTE, kind=Kind.TASK)


def merged(task: Task, fence: int, now: float) -> Task:
    hold(task, fence)
    allow(task, Step.MERGED)
    changes = {**unclaimed(task), "merged": True, "cancel_wanted": False, "attempts": 0}
    changes |= go_on(evolve(task, changes), now)
    return moved(task, Step.MERGED, **changes)


def conflict(task: Task, fence: int, feedback: Feedback, now: float) -> Task:
    """The first conflict is work for an executor, any further one for a person."""
    hold(task, fence)
    allow(task, Step.CONFLICT)
    if task.cancel_wanted:
        return moved(task, Step.CONFLICT, **cancelled(task, now))
    if task.conflicts >= 1:
        return moved(task, Step.CONFLICT, **_back_to_person(task, Reason.CONFLICT))
    return moved(task, Step.CONFLICT, **new_round(task, feedback) | {"conflicts": 1})


def merge_failed(task: Task, fence: int, message: str, now: float) -> Task:
    hold(task, fence)
    allow(task, Step.MERGE_FAILED)
    if task.cancel_wanted:
        return moved(task, Step.MERGE_FAILED, **cancelled(task, now))
    changes = _back_to_person(task, Reason.MERGE_FAILED) | {"message": message}
    return moved(task, Step.MERGE_FAILED, **changes)


def _back_to_person(task: Task, reason: Reason) -> dict[str, Any]:
    return {
        **unclaimed(task),
        "status": HUMAN_REVIEW,
        "reason": reason,
        "attempts": 0,
        "auto_approved": False,
        "needs_attention": False,
    }


def approve(task: Task, now: float) -> Task:
    """A person accepts the work, or takes note of what needed attention."""
    if task.status is COMPLETED:
        allow(task, Step.APPROVE, when=task.needs_attention, why="there is nothing to approve")
        return moved(task, Step.APPROVE, needs_attention=False, auto_approved=False)
    allow(task, Step.APPROVE)
    changes = {"reason": None, "attempts": 0, "needs_attention": False, "auto_approved": False}
    return moved(task, Step.APPROVE, **changes, **go_on(task, now))


def close_unmerged(task: Task, now: float) -> Task:
    """Keep the result and drop the branch: lost for code that depends on it."""
    allow(
        task,
        Step.CLOSE_UNMERGED,
        when=task.code and not task.merged,
        why="only code that is not merged can be closed unmerged",
    )
    return moved(
        task,
        Step.CLOSE_UNMERGED,
        status=COMPLETED,
        reason=None,
        needs_attention=False,
        feedback=None,
        completed_at=now,
    )


def reject(task: Task, feedback: Feedback) -> Task:
    allow(task, Step.REJECT)
    return moved(
        task,
        Step.REJECT,
        status=BLOCKED,
        reason=Reason.REJECTED,
        feedback=feedback,
        needs_attention=False,
    )


def revoke(task: Task, *, under_cancelled: bool) -> Task:
    """Take an approval back that no person gave; what is merged stays merged."""
    allow(
        task,
        Step.REVOKE,
        when=task.kind is Kind.TASK and task.auto_approved,
        why="a person approved it, or nobody had to",
    )
    allow(task, Step.REVOKE, when=not under_cancelled, why=_UNDER_CANCELLED)
    return moved(
        task,
        Step.REVOKE,
        status=HUMAN_REVIEW,
        reason=Reason.REVOKED,
        auto_approved=False,
        needs_attention=False,
        completed_at=None,
    )


def redo(task: Task, feedback: Feedback, *, under_cancelled: bool) -> Task:
    """A task is worked on again; of a request or milestone only the answer is written again."""
    allow(task, Step.REDO)
    allow(task, Step.REDO, when=not under_cancelled, why=_UNDER_CANCELLED)
    hint = HINTS.get(feedback.hint, Hint.NONE)
    if task.is_container:
        changes: dict[str, Any] = {
            "status": WAITING,
            "feedback": feedback,
            "attempts": 0,
            "completed_at": None,
        }
        return moved(task, Step.REDO, **changes, hint=hint)
    return moved(task, Step.REDO, **new_round(task, feedback), hint=hint)


def defer(task: Task) -> Task:
    allow(task, Step.DEFER)
    return moved(task, Step.DEFER, status=DEFERRED, came_from=task.status)


def reopen(task: Task, feedback: Feedback) -> Task:
    """Back to where it was; a rejected task starts a new round, a question gets its answer."""
    allow(task, Step.REOPEN)
    match place_of(task):
        case Place.BLOCKED_REJECTED:
            kept = task.feedback if not feedback.text else feedback
            return moved(task, Step.REOPEN, **new_round(task, kept))
        case Place.BLOCKED_QUESTION:
            return moved(
                task,
                Step.REOPEN,
                status=task.came_from,
                came_from=None,
                reason=None,
                feedback=feedback,
                attempts=0,
            )
        case _:
            reason = task.reason if task.came_from is HUMAN_REVIEW else None
            return moved(task, Step.REOPEN, status=task.came_from, came_from=None, reason=reason)


def retry(task: Task, *, under_cancelled: bool) -> Task:
    """Go back to where the failed claim came from, or to where the budget stopped it."""
    allow(task, Step.RETRY)
    allow(task, Step.RETRY, when=not under_cancelled, why=_UNDER_CANCELLED)
    used_up = task.reason is Reason.MAX_ITERATIONS
    return moved(
        task,
        Step.RETRY,
        round_iterations=0 if used_up else task.round_iterations,
        status=task.came_from,
        came_from=None,
        reason=None,
        attempts=0,
        completed_at=None,
        partial_answered=False,
    )


def budget(task: Task) -> Task:
    """The request's budget is spent: nothing more is claimed below it."""
    allow(task, Step.BUDGET, when=task.kind is Kind.REQUEST, why="only a request has a budget")
    came_from = task.status if task.holder is None else origin(task)
    return moved(
        task,
        Step.BUDGET,
        **unclaimed(task),
        status=BLOCKED,
        reason=Reason.BUDGET,
        came_from=came_from,
        partial_answered=False,
    )


def partial_answer(task: Task) -> Task:
    """One honest answer from what there is, once per stop."""
    allow(
        task,
        Step.PARTIAL_ANSWER,
        when=not task.partial_answered,
        why="this stop has its partial answer already",
    )
    return moved(task, Step.PARTIAL_ANSWER, partial_answered=True)


def cancel(task: Task, now: float) -> Task:
    """Go on without it; a merge that has begun is finished first."""
    allow(task, Step.CANCEL)
    if place_of(task) is Place.MERGE_BEGUN:
        return moved(task, Step.CANCEL, cancel_wanted=True)
    return moved(task, Step.CANCEL, **cancelled(task, now))


def cancelled(task: Task, now: float) -> dict[str, Any]:
    return {
        **unclaimed(task),
        "status": CANCELLED,
        "reason": None,
        "came_from": None,
        "review_mail": None,
        "cancel_wanted": False,
        "completed_at": now,
    }


def decided(task: Task, decision: Decision, now: float, text: str = "") -> Feedback:
    """A person's decision as it is kept in the task's history."""
    return Feedback(iteration=task.iterations, ts=now, decision=decision, text=text)


_UNDER_CANCELLED = "it belongs to something cancelled"
