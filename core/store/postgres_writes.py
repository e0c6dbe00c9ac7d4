"""What a step writes, in the order it was said, and the statements that keep it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.domain.events import SCHEMA
from core.domain.task import Task, TaskId
from core.errors import StoreFailed
from core.store import postgres_queries as queries
from core.store import rows
from core.store.postgres_words import Statement

Told = tuple[float, str, TaskId | None, TaskId | None, str]
"""When, what, of which task and request, and the rest as JSON."""


class Writes:
    """Of one step."""

    def __init__(self, shown: str) -> None:
        self.told: list[Told] = []
        self.sent = False
        self.replied: Statement | None = None
        self._shown = shown
        self._statements: list[Statement] = []
        self._dirty: dict[TaskId, tuple[int, dict[str, None]]] = {}
        """The version a task had when this step came, 0 for a new one, and what changed."""

    @property
    def pending(self) -> bool:
        return bool(self._statements or self._dirty)

    @property
    def any(self) -> bool:
        return self.pending or self.sent or bool(self.told)

    def added(self, tasks: Mapping[TaskId, Task]) -> list[Task]:
        """New tasks that the database does not know yet."""
        return [tasks[task_id] for task_id, (version, _) in self._dirty.items() if version == 0]

    def add(self, text: str, values: Sequence[Any]) -> None:
        self._statements.append(Statement(text, values))

    def note_new(self, task: Task) -> None:
        for dependency in dict.fromkeys(task.depends_on):
            self.add(queries.NEW_DEPENDENCY, (dependency, task.id))
        self._dirty[task.id] = (0, {})

    def witness(self, number: str) -> Statement | None:
        """Finds what only this step can have left, where it left something that never changes."""
        if self.told:
            ts, kind, task, _, data = self.told[0]
            return Statement(queries.TOLD, (number, ts, kind, task, data))
        return self.replied

    def note_change(self, task: Task, changed: Iterable[str]) -> None:
        _, names = self._dirty.setdefault(task.id, (task.version - 1, {}))
        names.update(dict.fromkeys(changed))

    def take_all(self, tasks: Mapping[TaskId, Task]) -> list[Statement]:
        """What keeps all that is left, with the events."""
        return [*self.take(tasks), *self._events()]

    def take(self, tasks: Mapping[TaskId, Task]) -> list[Statement]:
        """What keeps the tasks and whatever was added since this was last asked."""
        writes = self._statements
        for task_id, (version, names) in self._dirty.items():
            after = tasks[task_id]
            if version == 0:
                new = _columns(after, rows.new_columns(after))
                writes.append(Statement(queries.new_task(tuple(new)), tuple(new.values())))
            else:
                values = _columns(after, names)
                bound = (*values.values(), task_id, version)
                writes.append(Statement(queries.task_change(tuple(values)), bound))
        self._statements, self._dirty = [], {}
        self.sent = self.sent or bool(writes)
        return writes

    def _events(self) -> list[Statement]:
        found = []
        if len(self.told) > queries.EVENTS_A_STEP:
            most = queries.EVENTS_A_STEP
            raise StoreFailed(self._shown, f"a step may tell of {most:,} things, not more")
        if self.told:
            values: list[Any] = [SCHEMA]
            for event in self.told:
                values += event
            found.append(Statement(queries.new_events(len(self.told)), values))
        return found


def _columns(task: Task, names: Iterable[str]) -> dict[str, Any]:
    """What the columns of these fields hold."""
    new = task.__dict__
    values = {
        name: rows.ENCODE[name](new[name])
        if name in rows.ENCODE and new[name] is not None
        else new[name]
        for name in names
    }
    if "status" in values or "reason" in values:
        values["settled"] = int(task.settled)
    return values
