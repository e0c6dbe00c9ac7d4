"""Outcome: what came of a request, and what is left for a person to do."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from core.domain.task import (
    BLOCKED,
    CANCELLED,
    COMPLETED,
    DEFERRED,
    FAILED,
    HUMAN_REVIEW,
    Kind,
    Reason,
    Task,
    TaskId,
    TaskStatus,
)

DONE, FAILURE, NEEDS_A_PERSON, BUDGET_SPENT = 0, 1, 5, 6


class Named(BaseModel):
    """A task somebody should know of, and why."""

    model_config = ConfigDict(frozen=True)

    task: TaskId
    title: str
    why: str


class Outcome(BaseModel):
    model_config = ConfigDict(frozen=True)

    request: TaskId
    title: str
    status: TaskStatus
    answer: str | None
    partial: bool = False
    """The budget was spent before all was done."""
    failed: tuple[Named, ...]
    needs_attention: tuple[Named, ...]
    needs_you: tuple[Named, ...]

    @property
    def open(self) -> bool:
        """Agents can still go on with it."""
        return self.exit_code() is None

    def exit_code(self, *, strict: bool = False) -> int | None:
        """What a command that waited for this says at its end; None while it goes on."""
        if self.status is BLOCKED and any(one.why == Reason.BUDGET for one in self.needs_you):
            return BUDGET_SPENT
        if self.status is COMPLETED:
            return FAILURE if strict and self.failed else DONE
        if self.needs_you:
            return NEEDS_A_PERSON
        return FAILURE if self.status in (FAILED, CANCELLED, BLOCKED) else None

    def __str__(self) -> str:
        return self.answer or ""


def outcome(family: Sequence[Task]) -> Outcome:
    """Of a root and all that lies below it."""
    root = family[0]
    tasks = [one for one in family if one.kind is not Kind.IDEA]
    return Outcome(
        request=root.id,
        title=root.title,
        status=root.status,
        answer=root.result if root.status in (COMPLETED, FAILED) else None,
        failed=tuple(_named(one) for one in tasks if one.lost and one.status is not CANCELLED),
        needs_attention=tuple(
            _named(one) for one in tasks if one.needs_attention and one.status is COMPLETED
        ),
        needs_you=tuple(_named(one) for one in tasks if needs_a_person(one)),
    )


def needs_a_person(task: Task) -> bool:
    """Nothing moves here until somebody decides."""
    if task.status is BLOCKED:
        return task.reason is not Reason.DEPENDENCY
    return task.status in (HUMAN_REVIEW, DEFERRED)


def _named(task: Task) -> Named:
    why = task.reason.value if task.reason is not None else task.status.value
    if task.reason in (Reason.BLOCKED, Reason.NEEDS_HUMAN, Reason.ERROR) and task.message:
        why = task.message
    return Named(task=task.id, title=task.title, why=why)
