"""Situations a task can be in, how it came there, and where each step leads from there."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.limits import Limits
from core.domain.rules import Rules
from core.domain.steps import Place, Step
from core.domain.task import Complexity, Task
from tests.support import acts
from tests.support.acts import ACTS, Act
from tests.support.board import House

S, P = Step, Place
Doing = Step | tuple[Step, Act]
"""A step as it is usually done, or done in a way of its own."""


def rules(mode: ReviewMode = ReviewMode.AUTO, *, max_iterations: int = 50) -> Rules:
    """Leases outlast every other limit, so that each step can be waited for alone."""
    limits = Limits(lease_seconds=10_000, max_iterations=max_iterations)
    return Rules(limits=limits, review=ReviewRules(default_mode=mode))


@dataclass(frozen=True)
class Situation:
    name: str
    place: Place
    start: Callable[[House, dict[str, object]], Awaitable[Task]]
    path: tuple[Step | Act, ...]
    moves: Mapping[Doing, Place]
    fields: dict[str, object] = field(default_factory=dict)
    rules: Rules = field(default_factory=rules)

    def __str__(self) -> str:
        return self.name

    async def bring(self, house: House) -> Task:
        """A task in this situation, brought there by legitimate steps only."""
        task = await self.start(house, self.fields)
        for act in self.path:
            await (ACTS[act] if isinstance(act, Step) else act)(house, task)
            task = await house.task(task)
        return task


OPEN: dict[Doing, Place] = {S.CANCEL: P.CANCELLED}
HELD: dict[Doing, Place] = {**OPEN, S.SIGNAL: P.BLOCKED_QUESTION, S.FAIL: P.FAILED}
STALE: dict[Doing, Place] = {S.STALE: P.PENDING}
WORKING: dict[Doing, Place] = {
    **HELD,
    **STALE,
    S.ITERATE: P.CLAIMED_WORK,
    S.LET_GO: P.PENDING,
    S.TIMEOUT: P.FAILED,
}
FIXING: dict[Doing, Place] = {
    **HELD,
    **STALE,
    S.ITERATE: P.CLAIMED_FIX,
    S.LET_GO: P.CRITIQUE,
    S.TIMEOUT: P.HUMAN_REVIEW,
}
ASKED: dict[Doing, Place] = {
    **OPEN,
    **STALE,
    S.NO_ADVICE: P.HUMAN_REVIEW,
    (S.ADD_CRITIQUE, acts.criticise): P.CRITIQUE,
    (S.ADD_CRITIQUE, acts.want_discussion): P.HUMAN_REVIEW,
}
CRITICISED: dict[Doing, Place] = {**OPEN, **STALE, S.CLAIM_CRITIQUE: P.CLAIMED_FIX}
LOOKED_AT: dict[Doing, Place] = {
    **OPEN,
    **STALE,
    S.REJECT: P.BLOCKED_REJECTED,
    S.REDO: P.PENDING,
    S.DEFER: P.DEFERRED,
}
DONE: dict[Doing, Place] = {**STALE, S.REDO: P.PENDING}

SIMPLE: dict[str, object] = {"complexity": Complexity.SIMPLE}
COMPLEX: dict[str, object] = {"complexity": Complexity.COMPLEX}
CODE: dict[str, object] = {"code": True}
SIMPLE_CODE: dict[str, object] = {**SIMPLE, **CODE}
BATCH = rules(ReviewMode.BATCH)

CLAIMED = (S.CLAIM_NEXT,)
SUBMITTED = (*CLAIMED, S.SUBMIT)
REJECTED = (*SUBMITTED, acts.criticise)
FIX = (*REJECTED, S.CLAIM_CRITIQUE)
TWICE_LOST = (S.LET_GO, S.CLAIM_NEXT, S.LET_GO, S.CLAIM_NEXT)
FIX_TWICE_LOST = (*FIX, S.LET_GO, S.CLAIM_CRITIQUE, S.LET_GO, S.CLAIM_CRITIQUE)
MERGE = (*SUBMITTED, S.CLAIM_MERGE)
MERGE_AGAIN = (*MERGE, S.CONFLICT, *MERGE)
FORCED = (*REJECTED, S.STALE_CRITIQUE)


def _task(
    name: str,
    place: Place,
    path: tuple[Step | Act, ...],
    moves: Mapping[Doing, Place],
    fields: dict[str, object] | None = None,
    by: Rules | None = None,
) -> Situation:
    return Situation(name, place, acts.new_task, path, moves, fields or {}, by or rules())


TASKS = (
    _task(
        "pending",
        P.PENDING,
        (),
        {
            **OPEN,
            S.CLAIM_NEXT: P.CLAIMED_WORK,
            S.DEFER: P.DEFERRED,
            S.DEPENDENCY_LOST: P.BLOCKED_DEPENDENCY,
        },
    ),
    _task("work", P.CLAIMED_WORK, CLAIMED, {**WORKING, S.SUBMIT: P.REVIEW}),
    _task("work on simple", P.CLAIMED_WORK, CLAIMED, {**WORKING, S.SUBMIT: P.COMPLETED}, SIMPLE),
    _task(
        "work for a person",
        P.CLAIMED_WORK,
        CLAIMED,
        {**WORKING, S.SUBMIT: P.HUMAN_REVIEW},
        SIMPLE,
        BATCH,
    ),
    _task("work on code", P.CLAIMED_WORK, CLAIMED, {**WORKING, S.SUBMIT: P.MERGING}, SIMPLE_CODE),
    _task(
        "work for the last time",
        P.CLAIMED_WORK,
        (*CLAIMED, *TWICE_LOST, S.ITERATE),
        {
            **WORKING,
            S.SUBMIT: P.REVIEW,
            S.ITERATE: P.FAILED,
            S.LET_GO: P.FAILED,
            S.TIMEOUT: P.HUMAN_REVIEW,
        },
        by=rules(max_iterations=2),
    ),
    _task("fix", P.CLAIMED_FIX, FIX, {**FIXING, S.SUBMIT: P.COMPLETED}),
    _task("fix of complex", P.CLAIMED_FIX, FIX, {**FIXING, S.SUBMIT: P.REVIEW}, COMPLEX),
    _task("fix of code", P.CLAIMED_FIX, FIX, {**FIXING, S.SUBMIT: P.MERGING}, CODE),
    _task("fix for a person", P.CLAIMED_FIX, FIX, {**FIXING, S.SUBMIT: P.HUMAN_REVIEW}, by=BATCH),
    _task(
        "fix for the last time",
        P.CLAIMED_FIX,
        FIX_TWICE_LOST,
        {**FIXING, S.SUBMIT: P.COMPLETED, S.ITERATE: P.FAILED, S.LET_GO: P.COMPLETED},
        by=rules(max_iterations=2),
    ),
    _task(
        "fix of code for the last time",
        P.CLAIMED_FIX,
        FIX_TWICE_LOST,
        {**FIXING, S.SUBMIT: P.MERGING, S.LET_GO: P.HUMAN_REVIEW},
        CODE,
    ),
    _task("review", P.REVIEW, SUBMITTED, {**ASKED, S.ADD_CRITIQUE: P.COMPLETED}),
    _task("review of code", P.REVIEW, SUBMITTED, {**ASKED, S.ADD_CRITIQUE: P.MERGING}, CODE),
    _task(
        "review before a person",
        P.REVIEW,
        SUBMITTED,
        {**ASKED, S.ADD_CRITIQUE: P.HUMAN_REVIEW},
        by=BATCH,
    ),
    _task("critique", P.CRITIQUE, REJECTED, {**CRITICISED, S.STALE_CRITIQUE: P.COMPLETED}),
    _task(
        "critique of code",
        P.CRITIQUE,
        REJECTED,
        {**CRITICISED, S.STALE_CRITIQUE: P.HUMAN_REVIEW},
        CODE,
    ),
    _task(
        "human_review",
        P.HUMAN_REVIEW,
        SUBMITTED,
        {**LOOKED_AT, S.APPROVE: P.COMPLETED},
        SIMPLE,
        BATCH,
    ),
    _task(
        "human_review of code",
        P.HUMAN_REVIEW,
        SUBMITTED,
        {**LOOKED_AT, S.APPROVE: P.MERGING, S.CLOSE_UNMERGED: P.COMPLETED},
        SIMPLE_CODE,
        BATCH,
    ),
    _task(
        "human_review of merged code",
        P.HUMAN_REVIEW,
        (*MERGE, S.MERGED, S.REVOKE),
        {**LOOKED_AT, S.APPROVE: P.COMPLETED},
        SIMPLE_CODE,
    ),
    _task("merging", P.MERGING, SUBMITTED, {**OPEN, S.CLAIM_MERGE: P.MERGE_BEGUN}, SIMPLE_CODE),
    _task(
        "merge begun",
        P.MERGE_BEGUN,
        MERGE,
        {
            S.MERGED: P.COMPLETED,
            S.CONFLICT: P.PENDING,
            S.MERGE_FAILED: P.HUMAN_REVIEW,
            S.LET_GO: P.MERGING,
            S.CANCEL: P.MERGE_BEGUN,
        },
        SIMPLE_CODE,
    ),
    _task(
        "merge begun after a conflict and two attempts",
        P.MERGE_BEGUN,
        (*MERGE_AGAIN, S.LET_GO, S.CLAIM_MERGE, S.LET_GO, S.CLAIM_MERGE),
        {
            S.MERGED: P.COMPLETED,
            S.CONFLICT: P.HUMAN_REVIEW,
            S.MERGE_FAILED: P.HUMAN_REVIEW,
            S.LET_GO: P.HUMAN_REVIEW,
            S.CANCEL: P.MERGE_BEGUN,
        },
        SIMPLE_CODE,
    ),
    _task(
        "merge begun, to be cancelled",
        P.MERGE_BEGUN,
        (*MERGE, S.CANCEL),
        {
            S.MERGED: P.COMPLETED,
            S.CONFLICT: P.CANCELLED,
            S.MERGE_FAILED: P.CANCELLED,
            S.LET_GO: P.CANCELLED,
            S.CANCEL: P.MERGE_BEGUN,
        },
        SIMPLE_CODE,
    ),
    _task("completed", P.COMPLETED, SUBMITTED, {**DONE, S.REVOKE: P.HUMAN_REVIEW}, SIMPLE),
    _task("completed by a person", P.COMPLETED, (*SUBMITTED, S.APPROVE), DONE, SIMPLE, BATCH),
    _task(
        "completed, needs attention",
        P.COMPLETED,
        FORCED,
        {**DONE, S.REVOKE: P.HUMAN_REVIEW, S.APPROVE: P.COMPLETED},
    ),
    _task(
        "completed and merged",
        P.COMPLETED,
        (*MERGE, S.MERGED),
        {**DONE, S.REVOKE: P.HUMAN_REVIEW},
        SIMPLE_CODE,
    ),
    _task(
        "completed unmerged",
        P.COMPLETED,
        (*SUBMITTED, S.CLOSE_UNMERGED),
        DONE,
        SIMPLE_CODE,
        BATCH,
    ),
    _task("failed", P.FAILED, (*CLAIMED, S.FAIL), {**OPEN, S.RETRY: P.PENDING}),
    _task("failed fix", P.FAILED, (*FIX, S.FAIL), {**OPEN, S.RETRY: P.CRITIQUE}),
    _task("question", P.BLOCKED_QUESTION, (*CLAIMED, S.SIGNAL), {**OPEN, S.REOPEN: P.PENDING}),
    _task(
        "question of a fix", P.BLOCKED_QUESTION, (*FIX, S.SIGNAL), {**OPEN, S.REOPEN: P.CRITIQUE}
    ),
    _task(
        "rejected",
        P.BLOCKED_REJECTED,
        (*SUBMITTED, S.REJECT),
        {**OPEN, S.REOPEN: P.PENDING},
        SIMPLE,
        BATCH,
    ),
    _task(
        "lost dependency",
        P.BLOCKED_DEPENDENCY,
        (S.DEPENDENCY_LOST,),
        {**OPEN, S.DEPENDENCY_BACK: P.PENDING},
    ),
    _task("deferred", P.DEFERRED, (S.DEFER,), {**OPEN, S.REOPEN: P.PENDING}),
    _task(
        "deferred from human_review",
        P.DEFERRED,
        (*SUBMITTED, S.DEFER),
        {**OPEN, S.REOPEN: P.HUMAN_REVIEW},
        SIMPLE,
        BATCH,
    ),
    _task("cancelled", P.CANCELLED, (S.CANCEL,), {}),
    Situation("idea", P.IDEA, acts.new_idea, (), {**OPEN, S.PROMOTE: P.PENDING}),
)
