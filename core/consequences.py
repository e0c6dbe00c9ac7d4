"""Keeps a step with all that follows from it: events, mail, wake-ups, conditions elsewhere."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from core.domain import conditions, lifecycle, message
from core.domain.critique import Critique
from core.domain.events import EVENT_OF, EventType, told
from core.domain.frozen import evolve
from core.domain.steps import TABLE, Step, also, place_of
from core.domain.task import (
    CANCELLED,
    COMPLETED,
    FIX,
    HUMAN_REVIEW,
    MERGING,
    REVIEW,
    WAITING,
    Kind,
    Phase,
    Task,
    TaskId,
)
from core.store.protocol import Answer, Reader, Transaction

Listener = Callable[[Transaction, Task | None, Task], Awaitable[None]]
"""Adds its own records to the transaction of a step: the task before (None: new) and after."""

_ANSWER, _IDEA = Step.ADD_CRITIQUE, Kind.IDEA
_SETTLED_AT = frozenset({HUMAN_REVIEW, MERGING, COMPLETED})
_SETTLING = frozenset({Step.SUBMIT, Step.ADD_CRITIQUE, Step.STALE_CRITIQUE, Step.LET_GO})


def wake_topic(phase: Phase) -> str:
    return f"claim:{phase}"


def own_fix_topic(agent: str) -> str:
    return f"claim:fix:{agent}"


def lost_topic(task_id: TaskId, fence: int) -> str:
    return f"lost:{task_id}:{fence}"


def lost_mail_topic(number: int) -> str:
    return f"lost:mail:{number}"


class Consequences:
    """Of one step, in its transaction."""

    def __init__(self, tx: Transaction, listeners: Sequence[Listener]) -> None:
        self._tx = tx
        self._now = tx.now
        self._listeners = listeners
        self._changed: list[tuple[Task | None, Task]] = []

    async def add(self, task: Task) -> None:
        """Keep a new task."""
        self._tx.add_task(task)
        kind = EventType.REQUEST_ADDED if task.kind is Kind.REQUEST else EventType.TASK_ADDED
        said = {
            "title": task.title,
            "parent": task.parent,
            "depends_on": task.depends_on,
            "complexity": task.complexity._value_,
        }
        self._tell(kind, task, {**told(task, ("kind", "status", "round")), **said})
        await self._note(None, task)

    async def keep(self, step: Step, before: Task, after: Task, **said: Any) -> Task:
        """Keep one step of a task with its event and its mail."""
        if before.status is not after.status:
            if after.status is REVIEW:
                await self._ask_for_advice(after)
                said["mail"] = after.review_mail
            elif before.status is REVIEW and step is not _ANSWER:
                await self._withdraw(before, after)
            elif after.status is COMPLETED:
                also(after, accepted=after.result_hash)
        if before.accepted is not None and before.result is not after.result:
            self._archive(before, after)
        changed = after.changed
        self._tx.put_task(after, changed)
        self._tx.tell(EVENT_OF[step], after.id, after.root, told(after, changed) | said)
        if step in _SETTLING and after.status in _SETTLED_AT and after.status is not before.status:
            self._tell(EventType.TASK_SETTLED, after, {"status": after.status._value_})
        await self._note(before, after)
        return after

    def tell_late(self, task: Task, critique: Critique) -> None:
        self._tell(EventType.CRITIQUE_CAME_LATE, task, {"critique": critique})

    def tell_mail(self, kind: EventType, mail: message.Message) -> None:
        self._tx.tell(kind, mail.task, mail.root, mail_fact(mail))

    def _tell(self, kind: EventType, task: Task, data: dict[str, Any]) -> None:
        self._tx.tell(kind, task.id, task.root, data)

    async def _note(self, before: Task | None, after: Task) -> None:
        self._changed.append((before, after))
        self._ring(before, after)
        for listener in self._listeners:
            await listener(self._tx, before, after)

    async def _ask_for_advice(self, after: Task) -> None:
        mail = await self._tx.send(message.critique_request(after, self._now))
        self._tx.ring(mail_topic(mail))
        also(after, review_mail=mail.number)

    async def _withdraw(self, before: Task, after: Task) -> None:
        """Leaving the review by any other way than an answer takes its mail back."""
        if before.review_mail is not None:
            mail = await self._tx.message(before.review_mail)
            if mail.status in message.OPEN:
                withdrawn = message.withdraw(mail)
                self._tx.put_message(withdrawn)
                self._tx.ring(lost_mail_topic(mail.number))
                self.tell_mail(EventType.MAIL_WITHDRAWN, withdrawn)
        also(after, review_mail=None)

    def _archive(self, before: Task, after: Task) -> None:
        """A result that was accepted is kept when another replaces it."""
        if before.accepted != before.result_hash or before.result_hash == after.result_hash:
            return
        version = before.answers + 1
        self._tx.add_answer(
            Answer(
                task=before.id,
                version=version,
                hash=before.accepted or "",
                partial=False,
                ts=before.completed_at or self._now,
                text=before.result or "",
            )
        )
        also(after, answers=version)

    async def follow(self) -> None:
        """Apply the conditions until nothing changes."""
        # It grows while it is walked: what a condition changes has consequences too.
        for before, after in self._changed:
            if not after.stands_alone:
                await self._examine(after.id)
            if before is not None and conditions.matters_to_dependents(before, after):
                for task_id in await effective_dependents(self._tx, after.id):
                    await self._examine(task_id)
            if after.parent is not None and await self._matters_to_parent(before, after):
                await self._examine(after.parent)

    async def _matters_to_parent(self, before: Task | None, after: Task) -> bool:
        if before is not None and not conditions.matters_to_parent(before, after):
            return False
        assert after.parent is not None, "only asked of children"
        parent = await self._tx.task(after.parent)
        if after.settled:
            return parent.status is WAITING
        return parent.status is not WAITING or parent.claimable is not None

    async def _examine(self, task_id: TaskId) -> None:
        task = await self._tx.task(task_id)
        if task.kind is _IDEA:
            return
        dependencies: Sequence[Task] = ()
        if task.depends_on or task.parent is not None:
            dependencies = await effective_dependencies(self._tx, task)
        moved = children_settled = None
        if dependencies:
            above = bool(task.inputs) and await under_cancelled(self._tx, task)
            moved = conditions.by_dependencies(task, dependencies, under_cancelled=above)
        if moved is None and task.is_container:
            moved, children_settled = await self._by_children(task)
        if moved is not None:
            await self.keep(moved[0], task, moved[1])
            return
        ready = lifecycle.claimable(
            task,
            dependencies_met=all(conditions.is_met(one, task) for one in dependencies),
            children_settled=bool(children_settled),
        )
        if ready is not task.claimable:
            marked = evolve(task, {"claimable": ready, "version": task.version + 1})
            self._tx.put_task(marked, ("claimable", "version"))
            self._ring(task, marked)

    async def _by_children(self, task: Task) -> tuple[tuple[Step, Task] | None, bool]:
        """What its children do to a parent, and whether all of them are settled."""
        waiting = task.status is WAITING
        if not waiting and place_of(task) not in TABLE[Step.PARENT_OPENED]:
            return None, False
        if await self._tx.has_open_child(task.id):
            opened = None if waiting else conditions.opened(task)
            return (None if opened is None else (Step.PARENT_OPENED, opened)), False
        if waiting and task.answered is not None:
            restored = conditions.restored(task, await self._tx.children(task.id), self._now)
            return (None if restored is None else (Step.RESTORE, restored)), True
        return None, waiting

    def _ring(self, before: Task | None, after: Task) -> None:
        """Wake who could claim it now, and who holds a claim that has ended."""
        if before is not None and before.holder is not None and before.fence != after.fence:
            self._tx.ring(lost_topic(before.id, before.fence))
        if after.claimable is None or (before and before.claimable is after.claimable):
            return
        if after.claimable is FIX and after.executor is not None:
            self._tx.ring(own_fix_topic(after.executor))
        else:
            self._tx.ring(wake_topic(after.claimable))


def mail_fact(mail: message.Message) -> dict[str, Any]:
    return {"mail": mail.number, "agent": mail.agent, "tries": mail.tries}


def mail_topic(mail: message.Message) -> str:
    return f"mail:@{mail.to_agent}" if mail.to_agent is not None else f"mail:{mail.to_role}"


async def effective_dependencies(tx: Reader, task: Task) -> list[Task]:
    """Its own dependencies and those of the milestones and the request above it."""
    names = list(task.depends_on)
    parent = task.parent
    while parent is not None:
        above = await tx.task(parent)
        names += above.depends_on
        parent = above.parent
    return [await tx.task(name) for name in dict.fromkeys(names)]


async def effective_dependents(tx: Reader, task_id: TaskId) -> list[TaskId]:
    """Who depends on it: tasks that name it, and all that lies below those."""
    found: list[TaskId] = []
    for name in await tx.dependents(task_id):
        found.append(name)
        found += await descendants(tx, name)
    return list(dict.fromkeys(found))


async def descendants(tx: Reader, task_id: TaskId) -> list[TaskId]:
    if not (await tx.task(task_id)).is_container:
        return []
    return [task.id for task in await below(tx, task_id)]


async def below(tx: Reader, container: TaskId) -> list[Task]:
    """All that lies below a request or milestone, in plan order."""
    found: list[Task] = []
    for child in await tx.children(container):
        found.append(child)
        if child.is_container:
            found += await below(tx, child.id)
    return found


async def under_cancelled(tx: Reader, task: Task) -> bool:
    """Something above it is cancelled."""
    parent = task.parent
    while parent is not None:
        above = await tx.task(parent)
        if above.status is CANCELLED:
            return True
        parent = above.parent
    return False
