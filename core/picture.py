"""Picture: all there is in a store at one moment, for whoever checks it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from core.domain.critique import Critique
from core.domain.events import Event
from core.domain.message import Message
from core.domain.rules import Rules
from core.domain.task import CANCELLED, Kind, Task, TaskId
from core.store.protocol import Answer, Reader

_PAGE = 5000


@dataclass(frozen=True)
class Picture:
    """All there is in a store, at one moment."""

    rules: Rules
    tasks: dict[TaskId, Task]
    children: dict[TaskId, list[Task]]
    open_parents: frozenset[TaskId]
    mail: dict[int, Message]
    critiques: dict[TaskId, list[tuple[int, Critique]]]
    answers: dict[TaskId, list[Answer]]
    events: list[Event]

    def above(self, task: Task) -> Iterator[Task]:
        while task.parent is not None and task.parent in self.tasks:
            task = self.tasks[task.parent]
            yield task

    def dependencies(self, task: Task) -> list[Task]:
        names = [name for one in (task, *self.above(task)) for name in one.depends_on]
        return [self.tasks[name] for name in dict.fromkeys(names) if name in self.tasks]

    def under_cancelled(self, task: Task) -> bool:
        return any(one.status is CANCELLED for one in self.above(task))

    def counted(self, task: Task) -> list[Critique]:
        """The critiques of the current round that had an effect."""
        kept = self.critiques.get(task.id, [])
        return [one for round_, one in kept if round_ == task.round and not one.late]


async def take_picture(reader: Reader, rules: Rules) -> Picture:
    tasks = {task.id: task for task in await reader.all_tasks()}
    children: dict[TaskId, list[Task]] = defaultdict(list)
    for task in tasks.values():
        if task.parent is not None and task.kind is not Kind.IDEA:
            children[task.parent].append(task)
    events: list[Event] = []
    while page := await reader.events(events[-1].seq if events else 0, _PAGE, whole=True):
        events += page
    return Picture(
        rules=rules,
        tasks=tasks,
        children=children,
        open_parents=frozenset([one for one in children if await reader.has_open_child(one)]),
        mail={mail.number: mail for mail in await reader.messages()},
        critiques={one: await reader.critiques(one) for one in tasks},
        answers={one.id: await reader.answers(one.id) for one in tasks.values() if one.answers},
        events=events,
    )
