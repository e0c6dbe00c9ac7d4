"""Conditions: what follows for a task from its dependencies, its parent and its children."""

import hashlib
from collections.abc import Iterable, Sequence

from core.domain.decisions import new_round
from core.domain.lifecycle import unclaimed
from core.domain.steps import TABLE, Place, Step, moved, place_of
from core.domain.task import (
    BLOCKED,
    COMPLETED,
    FAILED,
    PENDING,
    WAITING,
    Kind,
    Reason,
    Task,
)


def is_met(dependency: Task, dependent: Task) -> bool:
    """Completed, and merged where both are code."""
    return dependency.status is COMPLETED and not _unmerged(dependency, dependent)


def is_lost(dependency: Task, dependent: Task) -> bool:
    """Nothing will come of it for this dependent, unless a person steps in."""
    return dependency.lost or (dependency.status is COMPLETED and _unmerged(dependency, dependent))


def _unmerged(dependency: Task, dependent: Task) -> bool:
    return dependency.code and dependent.code and not dependency.merged


def is_stale(task: Task, dependencies: Iterable[Task]) -> bool:
    """Built on a result that a completed dependency has replaced."""
    return any(
        dependency.status is COMPLETED
        and dependency.id in task.inputs
        and task.inputs[dependency.id] != dependency.result_hash
        for dependency in dependencies
    )


def by_dependencies(
    task: Task, dependencies: Sequence[Task], *, under_cancelled: bool
) -> tuple[Step, Task] | None:
    """What the state of its dependencies, its own and its milestones', does to a task."""
    place = place_of(task)
    if place is Place.PENDING and any(is_lost(one, task) for one in dependencies):
        step = Step.DEPENDENCY_LOST
        return step, moved(task, step, status=BLOCKED, reason=Reason.DEPENDENCY)
    if place is Place.BLOCKED_DEPENDENCY and not any(is_lost(one, task) for one in dependencies):
        step = Step.DEPENDENCY_BACK
        return step, moved(task, step, status=PENDING, reason=None)
    if (
        place in TABLE[Step.STALE]
        and task.kind is Kind.TASK
        and not under_cancelled
        and is_stale(task, dependencies)
    ):
        return Step.STALE, moved(task, Step.STALE, **new_round(task))
    return None


def opened(task: Task) -> Task | None:
    """A parent with an open child is not closed: it waits again."""
    if place_of(task) not in TABLE[Step.PARENT_OPENED]:
        return None
    if task.phase is None and not task.planned:
        return None
    return moved(
        task,
        Step.PARENT_OPENED,
        **unclaimed(task),
        status=WAITING,
        reason=None,
        came_from=None,
        attempts=0,
        completed_at=None,
    )


def restored(task: Task, children: Sequence[Task], now: float) -> Task | None:
    """Children as the last answer found them: that answer stands, no new version."""
    if task.status is not WAITING or task.feedback is not None:
        return None
    if task.answered is None or task.answered != fingerprint(children):
        return None
    empty = task.answered_as is FAILED
    return moved(
        task,
        Step.RESTORE,
        status=task.answered_as,
        reason=Reason.NOTHING_COMPLETED if empty else None,
        came_from=WAITING if empty else None,
        completed_at=now,
    )


def fingerprint(children: Iterable[Task]) -> str:
    """Statuses and results of the children, as an answer was written from them."""
    lines = sorted(
        f"{child.id} {child.status} {child.result_hash}"
        for child in children
        if child.kind is not Kind.IDEA
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def matters_to_dependents(before: Task, after: Task) -> bool:
    if not before.settled and not after.settled:
        return False
    return _as_dependency(before) != _as_dependency(after)


def _as_dependency(task: Task) -> tuple[object, ...]:
    if task.status is COMPLETED:
        return (task.result_hash, task.merged)
    return (task.lost,)


def matters_to_parent(before: Task, after: Task) -> bool:
    if before.kind is not after.kind:
        return True
    return (before.settled, before.status, before.result_hash) != (
        after.settled,
        after.status,
        after.result_hash,
    ) and (before.settled or after.settled)
