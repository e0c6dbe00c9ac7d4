"""What a step asks of SQLite and what it leaves there; also serves plain reads."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.domain.agent import Role
from core.domain.budget import Budget, Charge
from core.domain.critique import Critique
from core.domain.events import Event, EventType
from core.domain.feedback import Feedback
from core.domain.frozen import evolve
from core.domain.message import MailStatus, Message
from core.domain.reply import KeptReply, Spent
from core.domain.task import FIELDS, AgentName, Task, TaskId
from core.errors import MailNotFound, StoreCorrupt, StoreFailed, TaskNotFound
from core.store import charge_rows, rows, sqlite_charges, sqlite_finding, sqlite_replies
from core.store import sqlite_queries as sql
from core.store.cache import Shared, stood_there
from core.store.protocol import Answer, Wanted
from core.store.sqlite_writes import (
    ANSWER,
    CRITIQUE,
    DEPENDENCY,
    FEEDBACK,
    Row,
    Writes,
    check_storable,
)

_QUEUED = MailStatus.QUEUED
_VERSION = FIELDS.index("version")


class SqliteTransaction:
    """Collects what a step writes; a list that is asked for after a write flushes it first.

    Writes wait for the commit, and what this connection knows of tasks and mail changes at once:
    a step that refuses puts back what it changed there. Only a step that must look at its own
    writes through SQL pays for a savepoint.
    """

    __slots__ = (
        "_changes",
        "_connection",
        "_flush_earlier",
        "_rows",
        "_savepoint",
        "_unwritten_mail",
        "freed",
        "mail_before",
        "now",
        "posted",
        "shared",
        "tasks_before",
        "told",
        "topics",
        "wrote",
    )

    def __init__(
        self,
        connection: sqlite3.Connection,
        shared: Shared,
        now: float,
        flush_earlier: Callable[[], None] | None = None,
    ) -> None:
        self.now = now
        self.told: list[Row] = []
        self.topics: list[str] = []
        self.wrote = False
        self._connection = connection
        self.shared = shared
        self._flush_earlier = flush_earlier
        """Writes what the steps before this one left; a plain read has none before it."""
        self._changes: dict[TaskId, tuple[int, Iterable[str]]] = {}
        self.tasks_before: dict[TaskId, Task | None] = {}
        """What this step's tasks were before it; None: it added them."""
        self._unwritten_mail: dict[int, int | None] = {}
        """The fences this step's mail is written over; None: it is new."""
        self.mail_before: dict[int, Message | None] = {}
        self._rows: list[tuple[str, Row]] = []
        self._savepoint = False
        self.freed = False
        """This step made something claimable, of which the queues do not know yet."""
        self.posted = False
        """The same of mail."""

    # Reading

    async def task(self, task_id: TaskId) -> Task:
        return self.shared.tasks.get(task_id) or self.load(task_id)

    async def glance(self, task_id: TaskId) -> Task:
        return await self.task(task_id)

    async def has_task(self, task_id: TaskId) -> bool:
        if task_id in self.shared.tasks:
            return True
        found = self._connection.execute("SELECT 1 FROM tasks WHERE id = ?", (task_id,))
        return found.fetchone() is not None

    async def ids_like(self, prefix: str, limit: int) -> list[TaskId]:
        found = self.query(
            "SELECT id FROM tasks WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT ?",
            (len(prefix), prefix, limit),
        )
        return [TaskId(row[0]) for row in found]

    async def children(self, parent: TaskId) -> list[Task]:
        return self._task_list(sql.TASK + "WHERE parent = ? " + sql.PLAN_ORDER, (parent,))

    async def has_open_child(self, parent: TaskId) -> bool:
        counts = self.shared.open_children
        if parent not in counts:
            (counts[parent],) = self.query(sql.OPEN_CHILDREN, (parent,)).fetchone()
        return counts[parent] > 0

    async def dependents(self, task_id: TaskId) -> list[TaskId]:
        known = self.shared.dependents.get(task_id)
        if known is not None:
            return list(known)
        found = self.query("SELECT task FROM dependencies WHERE depends_on = ?", (task_id,))
        return [TaskId(row[0]) for row in found]

    async def family(self, root: TaskId) -> list[Task]:
        below = self._task_list(
            sql.TASK + "WHERE root = ? AND parent IS NOT NULL " + sql.PLAN_ORDER, (root,)
        )
        return [await self.task(root), *below]

    async def count_family(self, root: TaskId) -> int:
        found = self.query(
            "SELECT count(*) FROM tasks WHERE root = ? AND parent IS NOT NULL", (root,)
        )
        return int(found.fetchone()[0])

    async def all_tasks(self) -> list[Task]:
        return self._task_list(sql.TASK + "ORDER BY number")

    async def held(self) -> list[Task]:
        return self._task_list(sql.TASK + "WHERE lease_until IS NOT NULL ORDER BY lease_until")

    async def to_be_fixed(self) -> list[Task]:
        return self._task_list(sql.TO_BE_FIXED)

    async def critiques(self, task_id: TaskId) -> list[tuple[int, Critique]]:
        found = self.query(
            "SELECT round, critique FROM critiques WHERE task = ? ORDER BY number", (task_id,)
        )
        return [(row[0], Critique.model_validate_json(row[1])) for row in found]

    async def feedback(self, task_id: TaskId) -> list[Feedback]:
        found = self.query(
            "SELECT feedback FROM feedback WHERE task = ? ORDER BY number", (task_id,)
        )
        return [Feedback.model_validate_json(row[0]) for row in found]

    async def answers(self, task_id: TaskId) -> list[Answer]:
        found = self.query(
            "SELECT task, version, hash, partial, ts, text FROM answers WHERE task = ? "
            "ORDER BY version",
            (task_id,),
        )
        names = tuple(Answer.model_fields)
        return [Answer.model_validate(dict(zip(names, row, strict=True))) for row in found]

    async def replies(self, task_id: TaskId) -> list[KeptReply]:
        found = self.query(sqlite_replies.REPLIES, (task_id,))
        return [rows.reply_of(row) for row in found]

    async def spent(self, root: TaskId) -> Spent:
        return charge_rows.spent_of(self.query(sqlite_charges.SPENT, (root,)).fetchone())

    async def spent_since(self, ts: float) -> Spent:
        return charge_rows.spent_of(self.query(sqlite_charges.SPENT_SINCE, (ts,)).fetchone())

    async def charges(self, root: TaskId) -> list[Charge]:
        found = self.query(sqlite_charges.CHARGES, (root,))
        return [charge_rows.charge_of(row) for row in found]

    async def budget(self, root: TaskId) -> Budget | None:
        return charge_rows.budget_of(self.query(sqlite_charges.BUDGET, (root,)).fetchone())

    async def busy(self, roots: frozenset[TaskId] | None) -> bool:
        within, values = sql.among("root", roots)
        for condition in sql.BUSY:
            query = f"SELECT 1 FROM {condition} {within}LIMIT 1"
            if self.query(query, values).fetchone() is not None:
                return True
        return False

    async def message(self, number: int) -> Message:
        message = self.shared.messages.get(number)
        if message is None:
            row = self._connection.execute(sql.ONE_MAIL, (number,)).fetchone()
            if row is None:
                raise MailNotFound(number)
            message = rows.message_of(row)
            self.shared.messages[number] = message
        return message

    async def messages(self, *statuses: MailStatus) -> list[Message]:
        wanted = statuses or tuple(MailStatus)
        found: list[Message] = []
        for status in wanted:
            # The status stands in the text so that the partial indexes serve it.
            query = sql.MAIL + f"WHERE status = '{MailStatus(status).value}' ORDER BY number"
            found += [rows.message_of(row) for row in self.query(query)]
        return sorted(found, key=lambda message: message.number)

    async def events(self, after: int, limit: int, *, whole: bool = False) -> list[Event]:
        found = self.query(
            "SELECT seq, v, ts, type, task, request, data FROM events WHERE seq > ? "
            "ORDER BY seq LIMIT ?",
            (after, limit),
        )
        return [rows.event_of(row) for row in found]

    async def count_events(self) -> int:
        return int(self.query("SELECT count(*) FROM events").fetchone()[0])

    async def last_event(self) -> int:
        (seq,) = self.query("SELECT max(seq) FROM events").fetchone()
        return seq or 0

    # Finding work

    async def next_claimable(self, wanted: Wanted) -> Task | None:
        return sqlite_finding.claimable(self, wanted)

    async def next_message(
        self,
        agent: AgentName,
        roles: frozenset[Role],
        roots: frozenset[TaskId] | None = None,
    ) -> Message | None:
        return await sqlite_finding.mail(self, agent, roles, roots)

    # Writing

    def add_task(self, task: Task) -> None:
        shared, task_id = self.shared, task.id
        for dependency in dict.fromkeys(task.depends_on):
            self._write(DEPENDENCY, (dependency, task_id))
            if dependency in shared.dependents:
                shared.dependents[dependency].append(task_id)
        shared.last_task += 1
        shared.numbers[task_id] = shared.last_task
        shared.dependents[task_id] = []
        shared.tasks[task_id] = task
        shared.count_open(None, task)
        self.freed = self.freed or task.claimable is not None
        self.tasks_before[task_id] = None
        self._changes[task_id] = (0, ())
        self.wrote = True

    def put_task(self, task: Task, changed: Iterable[str]) -> None:
        task_id = task.id
        tasks = self.shared.tasks
        current = tasks.get(task_id) or self.load(task_id)
        if task.version != current.version + 1:
            raise StoreFailed(self.shared.path, f"task {task_id!r} was changed by another step")
        if task_id in self._changes:
            version, names = self._changes[task_id]
            self._changes[task_id] = (version, dict.fromkeys((*names, *changed)))
        else:
            self._changes[task_id] = (current.version, changed)
            self.tasks_before.setdefault(task_id, current)
        tasks[task_id] = task
        self.shared.count_open(current, task)
        if task.claimable is not None and not stood_there(current, task):
            self.freed = True
        self.wrote = True

    async def send(self, message: Message) -> Message:
        self.shared.last_mail += 1
        kept = evolve(message, {"number": self.shared.last_mail})
        if not message.body.isascii():
            check_storable(message.body)
        self.shared.messages[kept.number] = kept
        self._unwritten_mail[kept.number] = self.mail_before[kept.number] = None
        self.wrote = self.posted = True
        return kept

    def put_message(self, message: Message) -> None:
        number = message.number
        before = self.shared.messages[number]
        self._unwritten_mail.setdefault(number, before.fence)
        self.mail_before.setdefault(number, before)
        self.shared.messages[number] = message
        self.posted = self.posted or message.status is _QUEUED
        self.wrote = True

    def add_critique(self, task: Task, critique: Critique) -> None:
        text = rows.json_of(critique)
        self._write(CRITIQUE, (task.id, task.round, int(critique.late), critique.mail, text))

    def add_feedback(self, task_id: TaskId, feedback: Feedback) -> None:
        self._write(FEEDBACK, (task_id, rows.json_of(feedback)))

    def add_answer(self, answer: Answer) -> None:
        key = (answer.task, answer.version, answer.hash)
        self._write(ANSWER, (*key, int(answer.partial), answer.ts, answer.text))

    def add_reply(self, reply: KeptReply) -> None:
        self._write(sqlite_replies.NEW_REPLY, rows.reply_row(reply, self.now))

    def discard_reply(self, number: int) -> None:
        self._write(sqlite_replies.DISCARD, (number,))

    def add_charge(self, charge: Charge) -> None:
        self._write(sqlite_charges.NEW_CHARGE, charge_rows.row_of(charge, self.now))

    def settle_charge(self, charge: Charge) -> None:
        self._write(sqlite_charges.SETTLE, charge_rows.settled_row(charge))

    def drop_charge(self, charge_id: str) -> None:
        self._write(sqlite_charges.DROP, (charge_id,))

    def put_budget(self, root: TaskId, budget: Budget) -> None:
        self._write(sqlite_charges.PUT_BUDGET, (root, budget.tokens, budget.usd))

    def tell(
        self, kind: EventType, task: TaskId | None, request: TaskId | None, data: Mapping[str, Any]
    ) -> None:
        self.told.append((self.now, kind._value_, task, request, rows.json_of(data)))
        self.wrote = True

    def ring(self, topic: str) -> None:
        self.topics.append(topic)

    # Keeping

    def keep(self, writes: Writes) -> None:
        """Leave what was written for the commit, and let the queues know of it."""
        self._leave(writes)
        writes.events += self.told
        if self._savepoint:
            self._connection.execute("RELEASE step")
        self.shared.tell_queues(self.tasks_before, self.mail_before)

    def discard(self) -> None:
        """Leave nothing of this step."""
        if self.tasks_before:
            self.shared.put_tasks_back(self.tasks_before)
        if self.mail_before:
            self.shared.put_mail_back(self.mail_before)
        if self._savepoint:
            self._connection.execute("ROLLBACK TO step")
            self._connection.execute("RELEASE step")

    def load(self, task_id: TaskId) -> Task:
        """Nobody here has seen it lately, so nobody here has written it either."""
        row = self._connection.execute(sql.ONE_TASK, (task_id,)).fetchone()
        if row is None:
            raise TaskNotFound(task_id)
        task = self.shared.tasks[task_id] = self._sound(row)
        self.shared.numbers[task_id] = row[-1]
        return task

    def _write(self, statement: str, values: Row) -> None:
        self._rows.append((statement, values))
        self.wrote = True

    def query(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Ask for rows, once all that was written so far can be seen."""
        if self._flush_earlier is not None:
            self._flush_earlier()
        if self._changes or self._rows or self._unwritten_mail:
            if not self._savepoint:
                self._connection.execute("SAVEPOINT step")
                self._savepoint = True
            writes = Writes()
            self._leave(writes)
            writes.flush(self._connection, self.shared.path)
        return self._connection.execute(statement, values)

    def _leave(self, writes: Writes) -> None:
        """The writes that were not made yet; refused before any is made if one can't be stored."""
        shared = self.shared
        for _, values in self._rows:
            for value in values:
                if type(value) is str and not value.isascii():
                    check_storable(value)
        prepared = [
            writes.prepared(shared.tasks[task_id], shared.numbers[task_id], version, names)
            for task_id, (version, names) in self._changes.items()
        ]
        writes.tasks.update(prepared)
        for number, fence in self._unwritten_mail.items():
            writes.add_mail(shared.messages[number], fence)
        for text, row in self._rows:
            writes.rows[text].append(row)
        self._rows, self._changes, self._unwritten_mail = [], {}, {}

    def _task_list(self, statement: str, values: Sequence[Any] = ()) -> list[Task]:
        return [self._sound(row) for row in self.query(statement, values)]

    def _sound(self, row: Sequence[Any]) -> Task:
        known = self.shared.tasks.get(row[0]) or self.shared.seen.get(row[0])
        if known is not None and known.version == row[_VERSION]:
            return known
        try:
            return rows.task_of(row)
        except ValueError as error:
            raise StoreCorrupt(self.shared.path, f"task {row[0]!r} makes no sense") from error
