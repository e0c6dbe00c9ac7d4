"""What a step asks of SQLite and what it leaves there; also serves plain reads."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from core.domain.agent import Role
from core.domain.critique import Critique
from core.domain.events import Event, NewEvent, read_fact
from core.domain.feedback import Feedback
from core.domain.message import MailStatus, Message, NewMessage
from core.domain.task import AgentName, Task, TaskId
from core.errors import MailNotFound, StoreFailed, TaskNotFound
from core.store import rows
from core.store.protocol import Answer, Wanted

_TASK = f"SELECT {', '.join(rows.TASK_COLUMNS)} FROM tasks "
_MAIL = f"SELECT {', '.join(rows.MAIL_COLUMNS)} FROM mail "
_NOT_PAUSED = "root NOT IN (SELECT id FROM tasks WHERE status = 'blocked' AND reason = 'budget') "
_CLAIM_ORDER = "ORDER BY hint, root_created, rank, number LIMIT 1"
_PLAN_ORDER = "ORDER BY rank, number"
_MAIL_FOR = (
    "(number) FROM mail WHERE status = 'queued' AND {address} = ? "
    "AND (not_for IS NULL OR instr(not_for, ?) = 0) AND (root IS NULL OR " + _NOT_PAUSED + ")"
)
_MAIL_FOR_ROLE = "SELECT min" + _MAIL_FOR.format(address="to_role")
_MAIL_FOR_AGENT = "SELECT min" + _MAIL_FOR.format(address="to_agent")


CACHED_TASKS = 8192
CACHED_MESSAGES = 1024


class Shared:
    """What all steps of one connection know, true as long as no other process wrote."""

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        self.path = path
        self.now = now
        self.tasks: dict[TaskId, Task] = {}
        self.messages: dict[int, Message] = {}
        self.last_seq = 0
        self.last_mail = 0

    def forget(self) -> None:
        self.tasks.clear()
        self.messages.clear()

    def next_mail(self) -> int:
        self.last_mail += 1
        return self.last_mail

    def remember(self, task: Task) -> None:
        """Open tasks are asked for again soon; of the others a parent may still ask."""
        self.tasks[task.id] = task
        if len(self.tasks) > CACHED_TASKS:
            del self.tasks[next(iter(self.tasks))]

    def remember_message(self, message: Message) -> None:
        self.messages[message.number] = message
        if len(self.messages) > CACHED_MESSAGES:
            del self.messages[next(iter(self.messages))]


class SqliteTransaction:
    """Collects what a step writes; a query that follows a write flushes it first.

    Writes wait for the end of the step, so a step that refuses has nothing to undo. Only a step
    that must look at its own writes through SQL pays for a savepoint.
    """

    def __init__(self, connection: sqlite3.Connection, shared: Shared) -> None:
        self._connection = connection
        self._shared = shared
        self._original: dict[TaskId, Task] = {}
        self._tasks: dict[TaskId, Task] = {}
        self._messages: dict[int, Message] = {}
        self._statements: list[tuple[str, Sequence[Any]]] = []
        self._dirty: dict[TaskId, None] = {}
        self._savepoint = False
        self.told: list[NewEvent] = []
        self.topics: set[str] = set()
        self.wrote = False

    async def now(self) -> float:
        return self._shared.now()

    # Reading

    async def task(self, task_id: TaskId) -> Task:
        task = self._tasks.get(task_id) or self._shared.tasks.get(task_id)
        if task is None:
            row = self._query(_TASK + "WHERE id = ?", (task_id,)).fetchone()
            if row is None:
                raise TaskNotFound(task_id)
            task = rows.task_of(row)
            self._shared.remember(task)
        return task

    async def has_task(self, task_id: TaskId) -> bool:
        if task_id in self._tasks:
            return True
        found = self._query("SELECT 1 FROM tasks WHERE id = ?", (task_id,)).fetchone()
        return found is not None

    async def ids_like(self, prefix: str, limit: int) -> list[TaskId]:
        found = self._query(
            "SELECT id FROM tasks WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT ?",
            (len(prefix), prefix, limit),
        )
        return [TaskId(row[0]) for row in found]

    async def children(self, parent: TaskId) -> list[Task]:
        return self._task_list(_TASK + "WHERE parent = ? " + _PLAN_ORDER, (parent,))

    async def has_open_child(self, parent: TaskId) -> bool:
        found = self._query(
            "SELECT 1 FROM tasks WHERE parent = ? AND settled = 0 AND kind <> 'idea' LIMIT 1",
            (parent,),
        )
        return found.fetchone() is not None

    async def dependents(self, task_id: TaskId) -> list[TaskId]:
        found = self._query("SELECT task FROM dependencies WHERE depends_on = ?", (task_id,))
        return [TaskId(row[0]) for row in found]

    async def family(self, root: TaskId) -> list[Task]:
        below = self._task_list(
            _TASK + "WHERE root = ? AND parent IS NOT NULL " + _PLAN_ORDER, (root,)
        )
        return [await self.task(root), *below]

    async def count_family(self, root: TaskId) -> int:
        found = self._query(
            "SELECT count(*) FROM tasks WHERE root = ? AND parent IS NOT NULL", (root,)
        )
        return int(found.fetchone()[0])

    async def all_tasks(self) -> list[Task]:
        return self._task_list(_TASK + "ORDER BY number")

    async def held(self) -> list[Task]:
        return self._task_list(_TASK + "WHERE lease_until IS NOT NULL ORDER BY lease_until")

    async def to_be_fixed(self) -> list[Task]:
        return self._task_list(
            _TASK + "WHERE claimable = 'fix' AND " + _NOT_PAUSED + "ORDER BY number"
        )

    async def critiques(self, task_id: TaskId) -> list[tuple[int, Critique]]:
        found = self._query(
            "SELECT round, critique FROM critiques WHERE task = ? ORDER BY number", (task_id,)
        )
        return [(row[0], Critique.model_validate_json(row[1])) for row in found]

    async def feedback(self, task_id: TaskId) -> list[Feedback]:
        found = self._query(
            "SELECT feedback FROM feedback WHERE task = ? ORDER BY number", (task_id,)
        )
        return [Feedback.model_validate_json(row[0]) for row in found]

    async def answers(self, task_id: TaskId) -> list[Answer]:
        found = self._query(
            "SELECT task, version, hash, partial, ts, text FROM answers WHERE task = ? "
            "ORDER BY version",
            (task_id,),
        )
        names = tuple(Answer.model_fields)
        return [Answer.model_validate(dict(zip(names, row, strict=True))) for row in found]

    async def message(self, number: int) -> Message:
        message = self._messages.get(number) or self._shared.messages.get(number)
        if message is None:
            row = self._query(_MAIL + "WHERE number = ?", (number,)).fetchone()
            if row is None:
                raise MailNotFound(number)
            message = rows.message_of(row)
        return message

    async def messages(self, *statuses: MailStatus) -> list[Message]:
        wanted = statuses or tuple(MailStatus)
        found: list[Message] = []
        for status in wanted:
            # The status stands in the text so that the partial indexes serve it.
            query = _MAIL + f"WHERE status = '{MailStatus(status).value}' ORDER BY number"
            found += [rows.message_of(row) for row in self._query(query)]
        return sorted(found, key=lambda message: message.number)

    async def events(self, after: int, limit: int) -> list[Event]:
        found = self._query(
            "SELECT seq, v, ts, type, task, request, data FROM events WHERE seq > ? "
            "ORDER BY seq LIMIT ?",
            (after, limit),
        )
        return [_event(row) for row in found]

    # Finding work

    async def next_claimable(self, wanted: Wanted) -> Task | None:
        phase = wanted.phase.value
        query = "SELECT id FROM tasks WHERE claimable = ? AND " + _NOT_PAUSED
        values: list[Any] = [phase]
        if wanted.own is not None:
            query += "AND (executor = ? OR waited_idle_seconds >= ?) "
            values += [wanted.own, wanted.waited_seconds]
        if wanted.roots is not None:
            query += f"AND root IN ({', '.join('?' * len(wanted.roots))}) "
            values += sorted(wanted.roots)
        row = self._query(query + _CLAIM_ORDER, values).fetchone()
        return None if row is None else await self.task(row[0])

    async def next_message(self, agent: AgentName, roles: frozenset[Role]) -> Message | None:
        name = rows.names_in([agent])
        found = [self._query(_MAIL_FOR_AGENT, (agent, name)).fetchone()[0]]
        found += [self._query(_MAIL_FOR_ROLE, (role.value, name)).fetchone()[0] for role in roles]
        numbers = [number for number in found if number is not None]
        return await self.message(min(numbers)) if numbers else None

    # Writing

    async def add_task(self, task: Task) -> None:
        values = rows.inserted(task)
        self._write(_insert("tasks", values), tuple(values.values()))
        for dependency in dict.fromkeys(task.depends_on):
            self._write("INSERT INTO dependencies VALUES (?, ?)", (dependency, task.id))
        self._tasks[task.id] = self._original[task.id] = task

    async def put_task(self, task: Task) -> None:
        if task.id not in self._original:
            self._original[task.id] = await self.task(task.id)
        self._tasks[task.id] = task
        self._dirty[task.id] = None
        self.wrote = True

    async def send(self, message: NewMessage) -> Message:
        number = self._shared.next_mail()
        kept = Message(number=number, **message.__dict__)
        values = rows.mail_inserted(kept)
        self._write(_insert("mail", values), tuple(values.values()))
        self._messages[number] = kept
        return kept

    async def put_message(self, message: Message) -> None:
        before = await self.message(message.number)
        values = rows.mail_changed(before, message)
        if not values:
            return
        self._write(
            _update("mail", tuple(values), "number = ? AND fence = ?"),
            (*values.values(), message.number, before.fence),
        )
        self._messages[message.number] = message

    async def add_critique(self, task: Task, critique: Critique) -> None:
        self._write(
            "INSERT INTO critiques (task, round, late, mail, critique) VALUES (?, ?, ?, ?, ?)",
            (task.id, task.round, critique.late, critique.mail, critique.model_dump_json()),
        )

    async def add_feedback(self, task_id: TaskId, feedback: Feedback) -> None:
        self._write(
            "INSERT INTO feedback (task, feedback) VALUES (?, ?)",
            (task_id, feedback.model_dump_json()),
        )

    async def add_answer(self, answer: Answer) -> None:
        self._write(
            "INSERT INTO answers (task, version, hash, partial, ts, text) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (answer.task, answer.version, answer.hash, answer.partial, answer.ts, answer.text),
        )

    async def add_event(self, event: NewEvent) -> None:
        self.told.append(event)
        self.wrote = True

    def ring(self, topic: str) -> None:
        self.topics.add(topic)

    # Keeping

    def keep(self) -> None:
        """Write what is left, in the order it was said; the batch commits it."""
        self._flush()
        if self._savepoint:
            self._connection.execute("RELEASE step")
        for task in self._tasks.values():
            self._shared.remember(task)
        for message in self._messages.values():
            self._shared.remember_message(message)

    def discard(self) -> None:
        """Leave nothing of this step."""
        if self._savepoint:
            self._connection.execute("ROLLBACK TO step")
            self._connection.execute("RELEASE step")

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        self._statements.append((statement, values))
        self.wrote = True

    def _query(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if self._statements or self._dirty:
            if not self._savepoint:
                self._connection.execute("SAVEPOINT step")
                self._savepoint = True
            self._flush()
        return self._connection.execute(statement, values)

    def _flush(self) -> None:
        for statement, values in self._statements:
            self._execute(statement, values)
        self._statements.clear()
        for task_id in self._dirty:
            before, after = self._original[task_id], self._tasks[task_id]
            changes = rows.changed(before, after)
            statement = _update("tasks", tuple(changes), "id = ? AND version = ?")
            self._execute(statement, (*changes.values(), task_id, before.version))
            self._original[task_id] = after
        self._dirty.clear()

    def _execute(self, statement: str, values: Sequence[Any]) -> None:
        if self._connection.execute(statement, values).rowcount != 1:
            raise StoreFailed(self._shared.path, "a row was changed behind the transaction's back")

    def _task_list(self, statement: str, values: Sequence[Any] = ()) -> list[Task]:
        return [rows.task_of(row) for row in self._query(statement, values)]


_texts: dict[tuple[str, ...], str] = {}


def _insert(table: str, values: Iterable[str]) -> str:
    names = tuple(values)
    key = ("insert", table, *names)
    if key not in _texts:
        _texts[key] = (
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        )
    return _texts[key]


def _update(table: str, names: tuple[str, ...], where: str) -> str:
    key = ("update", table, *names)
    if key not in _texts:
        _texts[key] = f"UPDATE {table} SET {', '.join(f'{n} = ?' for n in names)} WHERE {where}"
    return _texts[key]


def _event(row: Sequence[Any]) -> Event:
    seq, v, ts, event_type, task, request, data = row
    known, fact = read_fact(v, event_type, data)
    return Event(v=v, seq=seq, ts=ts, type=known, task=task, request=request, data=fact)
