"""What the steps of one connection know without asking, as long as nobody else wrote."""

from collections.abc import Mapping
from itertools import islice
from typing import TypeVar

from core.domain.message import MailStatus, Message
from core.domain.task import Hint, Kind, Phase, Task, TaskId
from core.store.queues import FIRST_LOOK, LONGEST, Queue

Key = TypeVar("Key")
Value = TypeVar("Value")
Place = tuple[Hint, float, str, int, TaskId]
"""Where a task stands in the order of claims: hint, age of its root, rank, number; and its id."""
Roots = frozenset[TaskId] | None

CACHED_TASKS = 8192
CACHED_MESSAGES = 1024
_QUEUED = MailStatus.QUEUED


class Shared:
    """What all steps of one connection know, true as long as no other process wrote."""

    def __init__(self, path: str, seen: Mapping[TaskId, Task] | None = None) -> None:
        self.path = path
        self.seen = seen or {}
        """Tasks another connection of this process knows: a row of the same version is the same."""
        self.tasks: dict[TaskId, Task] = {}
        self.numbers: dict[TaskId, int] = {}
        """The rows of these tasks."""
        self.dependents: dict[TaskId, list[TaskId]] = {}
        """Who depends on a task that was added here; nobody could do so before."""
        self.open_children: dict[TaskId, int] = {}
        """How many parts of these are not settled."""
        self.messages: dict[int, Message] = {}
        self.ready: dict[tuple[Phase, Roots], Queue[Place]] = {}
        self.mail: Queue[int] | None = None
        self.look_ahead = FIRST_LOOK
        """How many entries a queue is loaded with: few where other processes empty it anyway."""
        self.last_mail = 0
        self.last_task = 0

    def forget(self) -> None:
        self.tasks.clear()
        self.numbers.clear()
        self.dependents.clear()
        self.open_children.clear()
        self.messages.clear()
        self.ready.clear()
        self.mail = None
        self.look_ahead = FIRST_LOOK

    def look_further(self) -> int:
        """How much to load now; the next time it is more."""
        now, self.look_ahead = self.look_ahead, min(4 * self.look_ahead, LONGEST)
        return now

    def enter(self, task: Task) -> None:
        """It can be claimed now: the queues of its phase hold it."""
        place = (task.hint, task.root_created, task.rank, self.numbers[task.id], task.id)
        for (phase, roots), queue in self.ready.items():
            if phase is task.claimable and (roots is None or task.root in roots):
                queue.enter(place)

    def count_open(self, before: Task | None, after: Task) -> None:
        """Keep the count of a parent whose part this is."""
        if after.parent in self.open_children:
            self.open_children[after.parent] += is_open(after) - is_open(before)

    def tell_queues(
        self, tasks: Mapping[TaskId, Task | None], mail: Mapping[int, Message | None]
    ) -> None:
        """A step is kept: here is what it changed, as that was before."""
        if self.ready:
            for task_id, old in tasks.items():
                new = self.tasks[task_id]
                if new.claimable is not None and not stood_there(old, new):
                    self.enter(new)
        if self.mail is not None:
            for number in mail:
                if self.messages[number].status is _QUEUED:
                    self.mail.enter(number)

    def put_tasks_back(self, before: Mapping[TaskId, Task | None]) -> None:
        """A step that changed these failed; None: it added the task."""
        for task_id, task in before.items():
            if task is not None:
                self.tasks[task_id] = task
                continue
            for dependency in self.tasks.pop(task_id).depends_on:
                # Nobody asked for it here yet, or its own step ends with this one.
                if task_id in self.dependents.get(dependency, ()):
                    self.dependents[dependency].remove(task_id)
            del self.numbers[task_id], self.dependents[task_id]
        # What it took can be claimed again, and what it settled is open.
        self.ready.clear()
        self.open_children.clear()

    def put_mail_back(self, before: Mapping[int, Message | None]) -> None:
        for number, message in before.items():
            if message is None:
                del self.messages[number]
            else:
                self.messages[number] = message
        self.mail = None

    def trim(self) -> None:
        """Hold no more than is useful; only when all of it is in the database."""
        if len(self.tasks) > CACHED_TASKS:
            self.tasks = _newer_half(self.tasks)
            self.numbers = {name: self.numbers[name] for name in self.tasks}
            known = self.dependents
            self.dependents = {name: known[name] for name in self.tasks if name in known}
        if len(self.open_children) > CACHED_MESSAGES:
            self.open_children.clear()
        if len(self.messages) > CACHED_MESSAGES:
            self.messages = _newer_half(self.messages)


def stood_there(old: Task | None, new: Task) -> bool:
    """It could be claimed at the same place before."""
    return old is not None and old.claimable is new.claimable and old.hint is new.hint


def is_open(task: Task | None) -> bool:
    """It is a part that its parent waits for."""
    return task is not None and not task.settled and task.kind is not Kind.IDEA


def _newer_half(kept: dict[Key, Value]) -> dict[Key, Value]:
    # All at once: taking one at a time off the front of a dict gets slower with each one taken.
    return dict(islice(kept.items(), len(kept) // 2, None))
