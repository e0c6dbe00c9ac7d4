"""Situations of requests and milestones: what is planned, waited for and closed out."""

from collections.abc import Mapping

from core.domain.steps import Place, Step
from tests.support import acts
from tests.support.acts import Act
from tests.support.situations import CLAIMED, HELD, OPEN, TWICE_LOST, Doing, Situation

S, P = Step, Place
BUDGET: dict[Doing, Place] = {S.BUDGET: P.BLOCKED_BUDGET}
OPENED: dict[Doing, Place] = {S.PARENT_OPENED: P.WAITING}
PLANNING: dict[Doing, Place] = {
    **HELD,
    **BUDGET,
    S.DECOMPOSE: P.WAITING,
    S.LET_GO: P.PENDING,
    S.TIMEOUT: P.FAILED,
}
CLOSING: dict[Doing, Place] = {
    **HELD,
    **BUDGET,
    **OPENED,
    S.CLOSE_OUT: P.COMPLETED,
    S.LET_GO: P.WAITING,
    S.TIMEOUT: P.FAILED,
}
PAUSED: dict[Doing, Place] = {**OPEN, S.PARTIAL_ANSWER: P.BLOCKED_BUDGET}

PLANNED = (*CLAIMED, S.DECOMPOSE)
READY = (*PLANNED, acts.finish_child)
CLOSE = (*READY, S.CLAIM_CLOSE_OUT)
CLOSE_TWICE_LOST = (*CLOSE, S.LET_GO, S.CLAIM_CLOSE_OUT, S.LET_GO, S.CLAIM_CLOSE_OUT)
CLOSE_EMPTY = (*PLANNED, acts.fail_child, S.CLAIM_CLOSE_OUT)

Path = tuple[Step | Act, ...]

_BOTH: tuple[tuple[str, Place, Path, Mapping[Doing, Place]], ...] = (
    (
        "pending",
        P.PENDING,
        (),
        {
            **OPEN,
            **BUDGET,
            S.CLAIM_NEXT: P.CLAIMED_PLAN,
            S.DEFER: P.DEFERRED,
            S.DEPENDENCY_LOST: P.BLOCKED_DEPENDENCY,
        },
    ),
    ("plan", P.CLAIMED_PLAN, CLAIMED, PLANNING),
    (
        "plan for the last time",
        P.CLAIMED_PLAN,
        (*CLAIMED, *TWICE_LOST),
        {**PLANNING, S.LET_GO: P.FAILED},
    ),
    ("waiting", P.WAITING, PLANNED, {**OPEN, **BUDGET}),
    (
        "waiting for nobody",
        P.WAITING,
        READY,
        {**OPEN, **BUDGET, S.CLAIM_CLOSE_OUT: P.CLAIMED_CLOSE_OUT},
    ),
    (
        "waiting for a redone child",
        P.WAITING,
        (*CLOSE, S.CLOSE_OUT, acts.open_a_child),
        {**OPEN, **BUDGET, S.RESTORE: P.COMPLETED},
    ),
    (
        "waiting for a retried child",
        P.WAITING,
        (*CLOSE_EMPTY, S.CLOSE_OUT, S.RETRY),
        {**OPEN, **BUDGET, (S.RESTORE, acts.fail_child): P.NOTHING_COMPLETED},
    ),
    ("close-out", P.CLAIMED_CLOSE_OUT, CLOSE, CLOSING),
    (
        "close-out for the last time",
        P.CLAIMED_CLOSE_OUT,
        CLOSE_TWICE_LOST,
        {**CLOSING, S.LET_GO: P.FAILED},
    ),
    (
        "close-out of nothing",
        P.CLAIMED_CLOSE_OUT,
        CLOSE_EMPTY,
        {**CLOSING, S.CLOSE_OUT: P.NOTHING_COMPLETED},
    ),
    ("completed", P.COMPLETED, (*CLOSE, S.CLOSE_OUT), {**OPENED, S.REDO: P.WAITING}),
    ("failed plan", P.FAILED, (*CLAIMED, S.FAIL), {**OPEN, S.RETRY: P.PENDING}),
    ("failed close-out", P.FAILED, (*CLOSE, S.FAIL), {**OPEN, **OPENED, S.RETRY: P.WAITING}),
    (
        "nothing completed",
        P.NOTHING_COMPLETED,
        (*CLOSE_EMPTY, S.CLOSE_OUT),
        {**OPEN, **OPENED, S.RETRY: P.WAITING},
    ),
    (
        "nothing completed, nothing failed",
        P.NOTHING_COMPLETED,
        (*PLANNED, acts.cancel_child, S.CLAIM_CLOSE_OUT, S.CLOSE_OUT),
        {**OPEN, **OPENED},
    ),
    (
        "question of the plan",
        P.BLOCKED_QUESTION,
        (*CLAIMED, S.SIGNAL),
        {**OPEN, S.REOPEN: P.PENDING},
    ),
    (
        "question of the close-out",
        P.BLOCKED_QUESTION,
        (*CLOSE, S.SIGNAL),
        {**OPEN, **OPENED, S.REOPEN: P.WAITING},
    ),
    (
        "lost dependency",
        P.BLOCKED_DEPENDENCY,
        (S.DEPENDENCY_LOST,),
        {**OPEN, S.DEPENDENCY_BACK: P.PENDING},
    ),
    ("deferred", P.DEFERRED, (S.DEFER,), {**OPEN, S.REOPEN: P.PENDING}),
    ("cancelled", P.CANCELLED, (*READY, S.CANCEL), {}),
)

REQUESTS = (
    *(
        Situation(f"request: {name}", place, acts.new_request, path, moves)
        for name, place, path, moves in _BOTH
    ),
    Situation(
        "request: budget spent before the plan",
        P.BLOCKED_BUDGET,
        acts.new_request,
        (S.BUDGET,),
        {**PAUSED, S.RETRY: P.PENDING},
    ),
    Situation(
        "request: budget spent",
        P.BLOCKED_BUDGET,
        acts.new_request,
        (*READY, S.BUDGET),
        {**PAUSED, S.RETRY: P.WAITING},
    ),
    Situation(
        "request: budget spent, partly answered",
        P.BLOCKED_BUDGET,
        acts.new_request,
        (*CLOSE, S.BUDGET, S.PARTIAL_ANSWER),
        {**OPEN, S.RETRY: P.WAITING},
    ),
)
"""A request stands alone; only it has a budget."""

MILESTONES = tuple(
    Situation(
        f"milestone: {name}",
        place,
        acts.new_milestone,
        path,
        {doing: to for doing, to in moves.items() if doing is not S.BUDGET},
    )
    for name, place, path, moves in _BOTH
)
