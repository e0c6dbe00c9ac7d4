"""Wording: what a task is doing and what happened to it, in the words people read."""

from core.domain.critique import Critique, Opinion
from core.domain.events import (
    AddedFact,
    CritiqueFact,
    DecomposedFact,
    Event,
    EventType,
    MailFact,
    SaidFact,
    TaskFact,
)
from core.domain.steps import Place, place_of
from core.domain.task import COMPLETED, Phase, Reason, Task, TaskStatus, Verdict

_DOING: dict[Place, str] = {
    Place.NEW: "new",
    Place.IDEA: "an idea",
    Place.PENDING: "ready",
    Place.CLAIMED_PLAN: "planning",
    Place.CLAIMED_WORK: "working",
    Place.CLAIMED_FIX: "mending",
    Place.CLAIMED_CLOSE_OUT: "writing the answer",
    Place.WAITING: "waiting for its tasks",
    Place.REVIEW: "waiting for advice",
    Place.CRITIQUE: "to be mended",
    Place.HUMAN_REVIEW: "needs your review",
    Place.MERGING: "to be merged",
    Place.MERGE_BEGUN: "merging",
    Place.COMPLETED: "done",
    Place.FAILED: "failed",
    Place.NOTHING_COMPLETED: "failed",
    Place.BLOCKED_QUESTION: "asks you",
    Place.BLOCKED_REJECTED: "rejected",
    Place.BLOCKED_DEPENDENCY: "blocked",
    Place.BLOCKED_BUDGET: "budget spent",
    Place.DEFERRED: "put aside",
    Place.CANCELLED: "cancelled",
}

_WHY: dict[Reason, str] = {
    Reason.BLOCKED: "it can't go on",
    Reason.NEEDS_HUMAN: "it has a question",
    Reason.REJECTED: "you rejected it",
    Reason.DEPENDENCY: "something it depends on is lost",
    Reason.BUDGET: "the budget of its request is spent",
    Reason.ATTEMPTS: "it failed several times",
    Reason.MAX_ITERATIONS: "too many working passes",
    Reason.ERROR: "an error",
    Reason.TIMEOUT: "it took too long",
    Reason.NOTHING_COMPLETED: "none of its tasks was completed",
    Reason.POLICY: "finished work waits for your review",
    Reason.FORCED: "the advisor was never content",
    Reason.STALE: "a critique waited too long to be mended",
    Reason.UNREADABLE: "the advice could not be read",
    Reason.NEEDS_DISCUSSION: "the advisor wants it discussed",
    Reason.NO_ADVICE: "nobody could advise on it",
    Reason.CONFLICT: "its branch does not merge",
    Reason.MERGE_FAILED: "the merge failed",
    Reason.REVOKED: "its approval was taken back",
}

VERDICTS: dict[Verdict, str] = {
    Verdict.APPROVED: "the advisor passed it",
    Verdict.REVISED: "mended after the advice",
    Verdict.MAX_CYCLES_REACHED: "accepted although the advisor was never content",
    Verdict.CHANGES_REQUESTED: "accepted although what the advisor named was not mended",
    Verdict.NEEDS_DISCUSSION: "the advisor wants it discussed",
}

_OPINIONS: dict[Opinion, str] = {
    Opinion.PASSED: "passed it",
    Opinion.REJECTED: "asked for changes",
    Opinion.NEEDS_DISCUSSION: "wants it discussed",
    Opinion.UNREADABLE: "gave advice that could not be read",
}

_PHASES: dict[Phase, str] = {
    Phase.PLAN: "began to plan",
    Phase.WORK: "began to work",
    Phase.FIX: "began to mend what the advisor named",
    Phase.CLOSE_OUT: "began to write the answer",
    Phase.MERGE: "began to merge",
}

_SAID: dict[EventType, str] = {
    EventType.TASK_LET_GO: "given back to the board",
    EventType.TASK_SIGNALLED: "stopped with a question",
    EventType.TASK_FAILED: "failed",
    EventType.MERGE_CONFLICTED: "its branch did not merge",
    EventType.MERGE_FAILED: "the merge failed",
    EventType.TASK_APPROVED: "you approved it",
    EventType.TASK_REJECTED: "you rejected it",
    EventType.TASK_REDONE: "you asked for it to be done again",
    EventType.TASK_REOPENED: "you answered, and it goes on",
}

_BARE: dict[EventType, str] = {
    EventType.REQUEST_ADDED: "added",
    EventType.TASK_ADDED: "added",
    EventType.IDEA_PROMOTED: "an idea became a task",
    EventType.TASK_CLAIMED: "claimed",
    EventType.REQUEST_DECOMPOSED: "planned",
    EventType.ITERATION_ENDED: "a working pass ended",
    EventType.TASK_SUBMITTED: "a result was handed in",
    EventType.CRITIQUE_ADDED: "the advisor answered",
    EventType.CRITIQUE_CAME_LATE: "advice came too late and was only kept",
    EventType.ADVICE_MISSED: "nobody could advise on it; it goes to you",
    EventType.CRITIQUE_WENT_STALE: "nobody mended it in time; it was accepted as it is",
    EventType.TASK_SETTLED: "went through the review rules",
    EventType.REQUEST_CLOSED: "the answer was written",
    EventType.TASK_TIMED_OUT: "took too long",
    EventType.TASK_MERGED: "merged",
    EventType.TASK_CLOSED_UNMERGED: "you closed it unmerged",
    EventType.TASK_REVOKED: "its approval was taken back",
    EventType.TASK_DEFERRED: "you put it aside",
    EventType.TASK_RETRIED: "you had it tried again",
    EventType.BUDGET_SPENT: "its budget was spent",
    EventType.PARTIALLY_ANSWERED: "a partial answer was written",
    EventType.TASK_CANCELLED: "cancelled",
    EventType.DEPENDENCY_LOST: "something it depends on was lost",
    EventType.DEPENDENCY_CAME_BACK: "what it depends on came back",
    EventType.TASK_WENT_STALE: "built on a result that was replaced; to be done again",
    EventType.PARENT_OPENED: "open again, with a task below it",
    EventType.ANSWER_RESTORED: "its results are as before, so its answer stands",
    EventType.MAIL_SENT: "mail was sent",
    EventType.MAIL_TAKEN: "mail was taken",
    EventType.MAIL_RETURNED: "mail was given back for another try",
    EventType.MAIL_ACKNOWLEDGED: "mail was handled",
    EventType.MAIL_WITHDRAWN: "mail was withdrawn",
    EventType.MAIL_DIED: "mail became a dead letter",
    EventType.UNKNOWN: "something another version of Swarm wrote",
    **_SAID,
}

_ENDS: dict[TaskStatus, str] = {
    TaskStatus.COMPLETED: "done",
    TaskStatus.FAILED: "failed",
    TaskStatus.HUMAN_REVIEW: "waits for your review",
    TaskStatus.REVIEW: "waits for advice",
    TaskStatus.MERGING: "to be merged",
}
_UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))


def doing(task: Task) -> str:
    """What it is doing now; the same words on every screen."""
    place = place_of(task)
    if place is Place.PENDING and task.claimable is None:
        return "waiting for others"
    return _DOING[place]


def why(task: Task) -> str:
    """Why it is where it is: its own words where it has some, else ours; empty when all is well."""
    if task.reason is None:
        return ""
    if task.reason is Reason.ATTEMPTS and task.message:
        return f"{_WHY[task.reason]}: {task.message}"
    own = task.reason in (Reason.BLOCKED, Reason.NEEDS_HUMAN, Reason.ERROR, Reason.MERGE_FAILED)
    return task.message if own and task.message.strip() else _WHY[task.reason]


def opinion(critique: Critique) -> str:
    return _OPINIONS[critique.opinion]


def told(event: Event) -> str:
    """An event as a sentence without its full stop."""
    fact = event.data
    match fact:
        case CritiqueFact() if not fact.critique.late:
            return f"{fact.critique.reviewer} {opinion(fact.critique)}"
        case DecomposedFact():
            count = len(fact.children)
            return f"planned: {count} task{'' if count == 1 else 's'}"
        case AddedFact() if fact.parent is not None:
            return f"added below {fact.parent}"
        case SaidFact() if fact.text:
            return _and_then(f"{_BARE[event.type]}: {fact.text}", fact)
        case MailFact():
            return _of_mail(event.type, fact)
        case TaskFact():
            return _of_task(event.type, fact)
        case _:
            return _BARE[event.type]


def _of_task(kind: EventType, fact: TaskFact) -> str:
    if kind is EventType.TASK_CLAIMED and fact.phase is not None:
        return f"{fact.agent or 'somebody'} {_PHASES[fact.phase]}"
    if kind is EventType.TASK_SETTLED and fact.status is COMPLETED:
        return "accepted"
    return _and_then(_BARE[kind], fact)


def _and_then(said: str, fact: TaskFact) -> str:
    end = _ENDS.get(fact.status) if fact.status is not None else None
    return f"{said}; {end}" if end and end not in said else said


def _of_mail(kind: EventType, fact: MailFact) -> str:
    said = _BARE[kind]
    if fact.agent and kind is EventType.MAIL_TAKEN:
        said = f"{fact.agent} took the mail"
    return f"{said} (number {fact.mail})"


def duration(seconds: float) -> str:
    """As people say it, in at most two units."""
    whole = int(seconds)
    for size, unit, below, less in _UNITS:
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size}{unit} {rest}{less}" if rest else f"{whole // size}{unit}"
    return f"{whole}s"
