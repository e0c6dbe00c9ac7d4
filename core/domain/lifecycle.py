"""The steps of agents: claim, work, hand in, advise, let go. Each returns a new task or refuses."""

from typing import Any

from core.domain.critique import Critique, Opinion
from core.domain.frozen import evolve
from core.domain.human_review import FORCED, ReviewMode, review_mode, why_a_person
from core.domain.reports import Closing, Holder, Work
from core.domain.rules import Rules
from core.domain.steps import Step, allow, at_once, moved, place_of
from core.domain.task import (
    BLOCKED,
    CANCELLED,
    CLAIMED,
    CLOSE_OUT,
    COMPLETED,
    CRITIQUE,
    FAILED,
    FIX,
    HUMAN_REVIEW,
    MERGE,
    MERGING,
    NO_USAGE,
    PENDING,
    PLAN,
    REVIEW,
    WAITING,
    WORK,
    AgentName,
    Complexity,
    Kind,
    Phase,
    Reason,
    Signal,
    Task,
    TaskId,
    TaskStatus,
    Verdict,
    hash_of,
)
from core.errors import ClaimLost, IllegalTransition

_COMPLEX, _NORMAL = Complexity.COMPLEX, Complexity.NORMAL
_DONE, _IDEA = Signal.COMPLETE, Kind.IDEA

CLAIM_STEP = {
    PLAN: Step.CLAIM_NEXT,
    WORK: Step.CLAIM_NEXT,
    FIX: Step.CLAIM_CRITIQUE,
    CLOSE_OUT: Step.CLAIM_CLOSE_OUT,
    MERGE: Step.CLAIM_MERGE,
}

_ORIGIN = {
    PLAN: PENDING,
    WORK: PENDING,
    FIX: CRITIQUE,
    CLOSE_OUT: WAITING,
    MERGE: MERGING,
}


def origin(task: Task) -> TaskStatus:
    """Where the claim on this task came from."""
    assert task.phase is not None, "only a claimed task has an origin"
    return _ORIGIN[task.phase]


def hold(task: Task, fence: int) -> None:
    """Refuse a write under any but the claim that is running."""
    if task.holder is None or task.fence != fence:
        raise ClaimLost(task.id, fence)


def unclaimed(task: Task) -> dict[str, Any]:
    """What changes when a claim ends."""
    return {} if task.holder is None else {**_NO_CLAIM, "fence": task.fence + 1}


_NO_CLAIM: dict[str, Any] = dict.fromkeys(("phase", "holder", "agent", "lease_until", "claimed_at"))


def claim(
    task: Task, holder: Holder, now: float, rules: Rules, inputs: dict[TaskId, str] | None = None
) -> Task:
    """Take a task in the phase it is claimable for; a work pass notes what it is built on."""
    phase = task.claimable
    if phase is None:
        raise IllegalTransition(task.id, place_of(task), "claim", "it is not ready")
    changes: dict[str, Any] = {
        "status": task.status if phase is MERGE else CLAIMED,
        "phase": phase,
        "holder": holder.process,
        "agent": holder.agent,
        "fence": task.fence + 1,
        "lease_until": now + rules.limits.lease_seconds,
        "claimed_at": now,
        "waited_idle_seconds": 0.0,
        "watched_at": None,
    }
    if task.started is None:
        changes["started"] = now
    if phase is WORK:
        changes["inputs"] = inputs or {}
    return moved(task, CLAIM_STEP[phase], **changes)


def renew(task: Task, fence: int, now: float, rules: Rules) -> Task:
    """Keep a claim alive for another lease."""
    hold(task, fence)
    return evolve(
        task, {"lease_until": now + rules.limits.lease_seconds, "version": task.version + 1}
    )


def decompose(task: Task, fence: int) -> Task:
    """The plan is made; its children are created with this step."""
    hold(task, fence)
    allow(task, Step.DECOMPOSE)
    return moved(task, Step.DECOMPOSE, **unclaimed(task), status=WAITING, attempts=0, reason=None)


def iterate(task: Task, fence: int, draft: str | None, rules: Rules) -> Task:
    """One working pass is over and another follows; the last allowed one fails the task."""
    hold(task, fence)
    allow(task, Step.ITERATE)
    changes = _one_more_pass(task)
    if draft is not None:
        changes |= _result(task, draft)
    if changes["round_iterations"] >= rules.limits.max_iterations:
        changes |= _failed(task, Reason.MAX_ITERATIONS)
    return moved(task, Step.ITERATE, **changes)


def needs_advice(task: Task, rules: Rules) -> bool:
    """Advice is due on the next result of this task."""
    if not rules.review.advice:
        return False
    if _critiqued_each_time(task):
        return True
    return task.complexity is _NORMAL and task.phase is not FIX


def _critiqued_each_time(task: Task) -> bool:
    return task.complexity is _COMPLEX or task.auto_review


def submit(task: Task, fence: int, work: Work, rules: Rules, now: float) -> Task:
    """Hand in a result: to the advisor when advice is due, else to whoever has to look."""
    hold(task, fence)
    allow(task, Step.SUBMIT)
    changes = {
        **_NO_CLAIM,
        "fence": task.fence + 1,
        "result": work.result,
        "result_hash": hash_of(work.result),
        "result_round": task.round,
        "iterations": task.iterations + 1,
        "round_iterations": task.round_iterations + 1,
        "executor": task.agent,
        "worked_on_by": _with(task.worked_on_by, task.agent),
        "signal": _DONE,
        "message": work.message,
        "quality_passed": work.quality_passed,
        "attempts": 0,
        "reason": None,
    }
    if work.usage is not NO_USAGE:
        changes["usage"] = task.usage + work.usage
    if needs_advice(task, rules):
        changes["status"] = REVIEW
    else:
        if task.phase is FIX:
            changes["verdict"] = Verdict.REVISED
        changes |= settle(evolve(task, changes), rules, now)
    return moved(task, Step.SUBMIT, **changes)


def add_critique(task: Task, critique: Critique, rules: Rules, now: float) -> Task:
    """An opinion on the current result; the last rejection allowed is forced, not failed."""
    allow(task, Step.ADD_CRITIQUE)
    changes: dict[str, Any] = {
        "critique": critique,
        "critique_round": task.critique_round + 1,
        "review_mail": None,
        **_WATCH_RESET,
    }
    match critique.opinion:
        case Opinion.PASSED:
            changes["verdict"] = Verdict.APPROVED
        case Opinion.NEEDS_DISCUSSION:
            changes["verdict"] = Verdict.NEEDS_DISCUSSION
        case Opinion.REJECTED:
            if not _is_last_cycle(task):
                return moved(task, Step.ADD_CRITIQUE, **changes, status=CRITIQUE)
            changes["verdict"] = Verdict.MAX_CYCLES_REACHED
        case Opinion.UNREADABLE:
            pass
    if critique.opinion in _ASK_A_PERSON and not _trusted(task, rules):
        changes |= {"status": HUMAN_REVIEW, "reason": _ASK_A_PERSON[critique.opinion]}
    else:
        changes |= settle(evolve(task, changes), rules, now)
    return moved(task, Step.ADD_CRITIQUE, **changes)


_ASK_A_PERSON = {
    Opinion.NEEDS_DISCUSSION: Reason.NEEDS_DISCUSSION,
    Opinion.UNREADABLE: Reason.UNREADABLE,
}
_WATCH_RESET: dict[str, Any] = {"waited_idle_seconds": 0.0, "watched_at": None}


def _trusted(task: Task, rules: Rules) -> bool:
    return rules.review.trust and review_mode(task, rules.review) is ReviewMode.SKIP


def _is_last_cycle(task: Task) -> bool:
    return _critiqued_each_time(task) and task.critique_round + 1 >= task.max_cycles


def no_advice(task: Task) -> Task:
    """Nobody can advise on it: a person looks instead."""
    allow(task, Step.NO_ADVICE)
    return moved(
        task,
        Step.NO_ADVICE,
        status=HUMAN_REVIEW,
        reason=Reason.NO_ADVICE,
        review_mail=None,
        **_WATCH_RESET,
    )


def stale_critique(task: Task, rules: Rules, now: float) -> Task:
    """Nobody came to fix it in time: the result is kept as it is."""
    allow(task, Step.STALE_CRITIQUE)
    return moved(task, Step.STALE_CRITIQUE, **_forced(task, Reason.STALE, rules, now))


def close_out(task: Task, fence: int, closing: Closing, now: float) -> Task:
    """The answer is written from settled children; with none completed the request failed."""
    hold(task, fence)
    allow(task, Step.CLOSE_OUT)
    anything_completed = closing.anything_completed
    status = COMPLETED if anything_completed else FAILED
    return moved(
        task,
        Step.CLOSE_OUT,
        **unclaimed(task),
        **_result(task, closing.answer),
        status=status,
        reason=None if anything_completed else Reason.NOTHING_COMPLETED,
        came_from=None if anything_completed else WAITING,
        answered=closing.children,
        answered_as=status,
        executor=task.agent,
        feedback=None,
        attempts=0,
        completed_at=now,
    )


def let_go(task: Task, rules: Rules, now: float, *, attempt: bool) -> Task:
    """Return a task to where its claim came from; too many attempts end it."""
    allow(task, Step.LET_GO)
    attempts = task.attempts + 1 if attempt else task.attempts
    back = {**unclaimed(task), "status": origin(task), "attempts": attempts}
    if task.phase is MERGE and task.cancel_wanted:
        return moved(task, Step.LET_GO, **back | _cancelled(now))
    if not attempt or attempts < rules.limits.attempts:
        return moved(task, Step.LET_GO, **back)
    if task.phase is FIX:
        return moved(task, Step.LET_GO, **back | _forced(task, Reason.ATTEMPTS, rules, now))
    if task.phase is MERGE:
        person = {"status": HUMAN_REVIEW, "reason": Reason.MERGE_FAILED}
        return moved(task, Step.LET_GO, **back | person)
    return moved(task, Step.LET_GO, **back | _failed(task, Reason.ATTEMPTS))


def signal(task: Task, fence: int, kind: Signal, question: str) -> Task:
    """The agent can't go on without a person; the claim's origin is remembered."""
    hold(task, fence)
    allow(
        task,
        Step.SIGNAL,
        when=kind in (Signal.BLOCKED, Signal.NEEDS_HUMAN),
        why=f"{kind} is no question to a person",
    )
    reason = Reason.BLOCKED if kind is Signal.BLOCKED else Reason.NEEDS_HUMAN
    return moved(
        task,
        Step.SIGNAL,
        **unclaimed(task),
        **_one_more_pass(task),
        status=BLOCKED,
        reason=reason,
        came_from=origin(task),
        signal=kind,
        message=question,
    )


def fail(task: Task, fence: int, message: str) -> Task:
    """The agent gives up for good; a retry goes back to where the claim came from."""
    hold(task, fence)
    allow(task, Step.FAIL)
    return moved(
        task, Step.FAIL, **_failed(task, Reason.ERROR), signal=Signal.ERROR, message=message
    )


def timeout(task: Task) -> Task:
    """The claim took too long: a result of this round goes to a person, else the task failed."""
    allow(task, Step.TIMEOUT)
    if task.phase in (WORK, FIX) and task.result_round == task.round:
        verdict = Verdict.CHANGES_REQUESTED if task.critique_round else task.verdict
        return moved(
            task,
            Step.TIMEOUT,
            **unclaimed(task),
            status=HUMAN_REVIEW,
            reason=Reason.TIMEOUT,
            verdict=verdict,
        )
    return moved(task, Step.TIMEOUT, **_failed(task, Reason.TIMEOUT))


def settle(task: Task, rules: Rules, now: float) -> dict[str, Any]:
    """What the review policy changes on work that left the advisor's loop."""
    if (reason := why_a_person(task, rules.review)) is not None:
        return {"status": HUMAN_REVIEW, "reason": reason}
    changes = {"auto_approved": True, "needs_attention": task.verdict in FORCED, "reason": None}
    return changes | go_on(task, now)


def go_on(task: Task, now: float) -> dict[str, Any]:
    """Accepted work: code is merged first, all else is completed."""
    if task.code and not task.merged:
        return {"status": MERGING}
    return {"status": COMPLETED, "completed_at": now, "feedback": None}


def claimable(task: Task, *, dependencies_met: bool, children_settled: bool) -> Phase | None:
    """In which phase it could be claimed now, as far as its own request's budget allows."""
    if task.status is PENDING and task.kind is not _IDEA and dependencies_met:
        return PLAN if task.is_container else WORK
    if task.status is WAITING and children_settled:
        return CLOSE_OUT
    return at_once(task, task.status) if task.holder is None else None


def _forced(task: Task, reason: Reason, rules: Rules, now: float) -> dict[str, Any]:
    """Stopped in the middle of the loop: the result is kept, and marked."""
    changes = {**unclaimed(task), "verdict": Verdict.CHANGES_REQUESTED, **_WATCH_RESET}
    changes |= settle(evolve(task, changes), rules, now)
    return changes | {"reason": changes["reason"] and reason}


def _failed(task: Task, reason: Reason) -> dict[str, Any]:
    return {
        **unclaimed(task),
        "status": FAILED,
        "reason": reason,
        "came_from": origin(task),
    }


def _cancelled(now: float) -> dict[str, Any]:
    return {"status": CANCELLED, "reason": None, "cancel_wanted": False, "completed_at": now}


def _result(task: Task, result: str) -> dict[str, Any]:
    return {"result": result, "result_hash": hash_of(result), "result_round": task.round}


def _one_more_pass(task: Task) -> dict[str, Any]:
    return {
        "iterations": task.iterations + 1,
        "round_iterations": task.round_iterations + 1,
    }


def _with(names: tuple[AgentName, ...], name: AgentName | None) -> tuple[AgentName, ...]:
    return names if name is None or name in names else (*names, name)
