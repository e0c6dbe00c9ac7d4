"""What a step asks of SQLite and what it leaves there; also serves plain reads."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from core.domain.agent import Role
from core.domain.critique import Critique
from core.domain.events import Event, NewEvent, read_fact
from core.domain.feedback import Feedback
from core.domain.frozen import evolve
from core.domain.message import MailStatus, Message
from core.domain.reply import KeptReply, Spent
from core.domain.task import FIELDS, AgentName, Task, TaskId
from core.errors import (
    MailNotFound,
    StoreCorrupt,
    StoreFailed,
    TaskNotFound,
    UnstorableText,
)
from core.store import rows, sqlite_replies
from core.store.cache import Shared
from core.store.protocol import Answer, Wanted

_TASK = f"SELECT {', '.join(FIELDS)} FROM tasks "
_ONE_TASK = _TASK + "WHERE id = ?"
_MAIL = f"SELECT {', '.join(rows.MAIL_COLUMNS)} FROM mail "
_ONE_MAIL = _MAIL + "WHERE number = ?"
_PLAN_ORDER = "ORDER BY rank, number"
_NOT_PAUSED = (
    "NOT EXISTS (SELECT 1 FROM tasks AS paused WHERE paused.id = {table}.root "
    "AND paused.status = 'blocked' AND paused.reason = 'budget') "
)
_CLAIM = "SELECT id FROM tasks WHERE claimable = ? AND " + _NOT_PAUSED.format(table="tasks")
_CLAIM_ORDER = "ORDER BY hint, root_created, rank, number LIMIT 1"
_CLAIM_ANY = _CLAIM + _CLAIM_ORDER
_CLAIM_FIX = _CLAIM + "AND (executor = ? OR waited_idle_seconds >= ?) " + _CLAIM_ORDER
_BUSY = (
    # Each repeats the condition of a partial index, so that finished work costs nothing.
    "tasks WHERE claimable IS NOT NULL AND claimable <> 'merge' AND "
    + _NOT_PAUSED.format(table="tasks"),
    "tasks WHERE lease_until IS NOT NULL ",
    "mail WHERE status = 'queued' AND task IS NOT NULL AND " + _NOT_PAUSED.format(table="mail"),
    "mail WHERE status = 'taken' AND task IS NOT NULL ",
)
_OLDEST = (
    "SELECT min(number) AS oldest FROM mail WHERE status = 'queued' AND {address} = ? "
    "AND (not_for IS NULL OR instr(not_for, ?) = 0) AND (root IS NULL OR {not_paused})"
)
_FOR_ROLE = _OLDEST.format(address="to_role", not_paused=_NOT_PAUSED.format(table="mail"))
_FOR_AGENT = _OLDEST.format(address="to_agent", not_paused=_NOT_PAUSED.format(table="mail"))


class SqliteTransaction:
    """Collects what a step writes; a list that is asked for after a write flushes it first.

    Writes wait for the end of the step, so a step that refuses has nothing to undo. Only a step
    that must look at its own writes through SQL pays for a savepoint.
    """

    __slots__ = (
        "_added",
        "_connection",
        "_dirty",
        "_messages",
        "_savepoint",
        "_shared",
        "_statements",
        "_tasks",
        "now",
        "told",
        "topics",
        "wrote",
    )

    def __init__(self, connection: sqlite3.Connection, shared: Shared, now: float) -> None:
        self.now = now
        self.told: list[NewEvent] = []
        self.topics: list[str] = []
        self.wrote = False
        self._connection = connection
        self._shared = shared
        self._tasks: dict[TaskId, Task] = {}
        self._messages: dict[int, Message] = {}
        self._statements: list[tuple[str, Sequence[Any]]] = []
        self._dirty: dict[TaskId, tuple[int, Iterable[str]]] = {}
        self._savepoint = False
        self._added = False

    # Reading

    async def task(self, task_id: TaskId) -> Task:
        return self._tasks.get(task_id) or self._shared.tasks.get(task_id) or self._load(task_id)

    async def has_task(self, task_id: TaskId) -> bool:
        if task_id in self._tasks:
            return True
        found = self._connection.execute("SELECT 1 FROM tasks WHERE id = ?", (task_id,))
        return found.fetchone() is not None

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
        # Nobody comes to depend on a task but by being added.
        query = self._query if self._added else self._connection.execute
        found = query("SELECT task FROM dependencies WHERE depends_on = ?", (task_id,))
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
            _TASK
            + "WHERE claimable = 'fix' AND "
            + _NOT_PAUSED.format(table="tasks")
            + "ORDER BY number"
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

    async def replies(self, task_id: TaskId) -> list[KeptReply]:
        found = self._query(sqlite_replies.REPLIES, (task_id,))
        return [sqlite_replies.reply_of(row) for row in found]

    async def spent(self, root: TaskId) -> Spent:
        return sqlite_replies.spent_of(self._query(sqlite_replies.SPENT, (root,)).fetchone())

    async def busy(self, roots: frozenset[TaskId] | None) -> bool:
        within, values = _among("root", roots)
        for condition in _BUSY:
            query = f"SELECT 1 FROM {condition} {within}LIMIT 1"
            if self._query(query, values).fetchone() is not None:
                return True
        return False

    async def message(self, number: int) -> Message:
        message = self._messages.get(number) or self._shared.messages.get(number)
        if message is None:
            row = self._connection.execute(_ONE_MAIL, (number,)).fetchone()
            if row is None:
                raise MailNotFound(number)
            message = rows.message_of(row)
            self._shared.remember_messages({number: message})
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
        phase = wanted.phase._value_
        if wanted.roots is not None:
            row = self._query(*_within(wanted, wanted.roots)).fetchone()
        elif wanted.own is None:
            row = self._query(_CLAIM_ANY, (phase,)).fetchone()
        else:
            values = (phase, wanted.own, wanted.waited_seconds)
            row = self._query(_CLAIM_FIX, values).fetchone()
        return None if row is None else await self.task(row[0])

    async def next_message(
        self,
        agent: AgentName,
        roles: frozenset[Role],
        roots: frozenset[TaskId] | None = None,
    ) -> Message | None:
        within, names = _among("root", roots)
        query = "SELECT min(oldest) FROM (" + _FOR_AGENT + within
        values: list[Any] = [agent, f"|{agent}|", *names]
        for role in roles:
            query += " UNION ALL " + _FOR_ROLE + within
            values += [role.value, f"|{agent}|", *names]
        (number,) = self._query(query + ")", values).fetchone()
        return None if number is None else await self.message(number)

    # Writing

    def add_task(self, task: Task) -> None:
        for dependency in dict.fromkeys(task.depends_on):
            self._write("INSERT INTO dependencies VALUES (?, ?)", (dependency, task.id))
        self._tasks[task.id] = task
        self._dirty[task.id] = (0, ())
        self.wrote = self._added = True

    def put_task(self, task: Task, changed: Iterable[str]) -> None:
        known = self._tasks.get(task.id) or self._shared.tasks.get(task.id)
        current = (known or self._load(task.id)).version
        if task.version != current + 1:
            raise StoreFailed(self._shared.path, f"task {task.id!r} was changed by another step")
        if task.id in self._dirty:
            version, names = self._dirty[task.id]
            self._dirty[task.id] = (version, (*names, *changed))
        else:
            self._dirty[task.id] = (current, changed)
        self._tasks[task.id] = task
        self.wrote = True

    async def send(self, message: Message) -> Message:
        kept = evolve(message, {"number": self._shared.next_mail()})
        self._write(_NEW_MAIL, rows.mail_inserted(kept))
        self._messages[kept.number] = kept
        return kept

    def put_message(self, message: Message) -> None:
        before = self._messages.get(message.number) or self._shared.messages[message.number]
        self._write(_MAIL_STATE, (*rows.mail_state(message), message.number, before.fence))
        self._messages[message.number] = message

    def add_critique(self, task: Task, critique: Critique) -> None:
        self._write(
            "INSERT INTO critiques (task, round, late, mail, critique) VALUES (?, ?, ?, ?, ?)",
            (task.id, task.round, int(critique.late), critique.mail, critique.model_dump_json()),
        )

    def add_feedback(self, task_id: TaskId, feedback: Feedback) -> None:
        self._write(
            "INSERT INTO feedback (task, feedback) VALUES (?, ?)",
            (task_id, feedback.model_dump_json()),
        )

    def add_answer(self, answer: Answer) -> None:
        self._write(
            "INSERT INTO answers (task, version, hash, partial, ts, text) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (answer.task, answer.version, answer.hash, int(answer.partial), answer.ts, answer.text),
        )

    def add_reply(self, reply: KeptReply) -> None:
        self._write(sqlite_replies.NEW_REPLY, sqlite_replies.row_of(reply))

    def discard_reply(self, number: int) -> None:
        self._write(sqlite_replies.DISCARD, (number,))

    def add_event(self, event: NewEvent) -> None:
        self.told.append(event)
        self.wrote = True

    def ring(self, topic: str) -> None:
        self.topics.append(topic)

    # Keeping

    def keep(self) -> None:
        """Write what is left, in the order it was said; the batch commits it."""
        if self._statements or self._dirty:
            self._flush()
        if self._savepoint:
            self._connection.execute("RELEASE step")
        if self._tasks:
            self._shared.remember(self._tasks)
        if self._messages:
            self._shared.remember_messages(self._messages)

    def discard(self) -> None:
        """Leave nothing of this step."""
        if self._savepoint:
            self._connection.execute("ROLLBACK TO step")
            self._connection.execute("RELEASE step")

    def _load(self, task_id: TaskId) -> Task:
        """From the row: this step has not written it, nobody here has seen it lately."""
        row = self._connection.execute(_ONE_TASK, (task_id,)).fetchone()
        if row is None:
            raise TaskNotFound(task_id)
        task = self._sound(row)
        self._shared.remember({task_id: task})
        return task

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
        writes = self._statements
        for task_id, (version, names) in self._dirty.items():
            after = self._tasks[task_id]
            if version == 0:
                values = rows.inserted(after)
                writes.append((_new_task(tuple(values)), tuple(values.values())))
            else:
                values = rows.changed(after, names)
                row = (*values.values(), task_id, version)
                writes.append((_task_change(tuple(values)), row))
        for _, bound in writes:
            _check_storable(bound)
        for statement, bound in writes:
            if self._connection.execute(statement, bound).rowcount != 1:
                raise StoreFailed(self._shared.path, "a row changed behind a step's back")
        self._statements = []
        self._dirty = {}

    def _task_list(self, statement: str, values: Sequence[Any] = ()) -> list[Task]:
        return [self._sound(row) for row in self._query(statement, values)]

    def _sound(self, row: Sequence[Any]) -> Task:
        try:
            return rows.task_of(row)
        except ValueError as error:
            raise StoreCorrupt(self._shared.path, f"task {row[0]!r} makes no sense") from error


def _check_storable(values: Iterable[Any]) -> None:
    """Before anything is written, so that a step with a bad text fails alone."""
    try:
        for value in values:
            if type(value) is str and not value.isascii():
                value.encode()
    except UnicodeEncodeError as error:
        raise UnstorableText from error


def _among(column: str, names: frozenset[TaskId] | None) -> tuple[str, list[TaskId]]:
    """A condition that holds for these names only, or for all."""
    if names is None:
        return "", []
    return f"AND {column} IN ({', '.join('?' * len(names))}) ", sorted(names)


def _within(wanted: Wanted, roots: frozenset[TaskId]) -> tuple[str, list[Any]]:
    """The next claim among the work of these roots only."""
    within, names = _among("root", roots)
    query = _CLAIM + within
    values: list[Any] = [wanted.phase._value_, *names]
    if wanted.own is not None:
        query += "AND (executor = ? OR waited_idle_seconds >= ?) "
        values += [wanted.own, wanted.waited_seconds]
    return query + _CLAIM_ORDER, values


_texts: dict[tuple[str, ...], str] = {}


def _insert(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _update(table: str, names: tuple[str, ...], where: str) -> str:
    return f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in names)} WHERE {where}"


def _new_task(names: tuple[str, ...]) -> str:
    if ("", *names) not in _texts:
        _texts[("", *names)] = _insert("tasks", names)
    return _texts[("", *names)]


def _task_change(names: tuple[str, ...]) -> str:
    if names not in _texts:
        _texts[names] = _update("tasks", names, "id = ? AND version = ?")
    return _texts[names]


_NEW_MAIL = _insert("mail", rows.MAIL_COLUMNS)
_MAIL_STATE = _update("mail", rows.MAIL_STATE, "number = ? AND fence = ?")


def _event(row: Sequence[Any]) -> Event:
    seq, v, ts, event_type, task, request, data = row
    known, fact = read_fact(v, event_type, data)
    return Event(v=v, seq=seq, ts=ts, type=known, task=task, request=request, data=fact)
