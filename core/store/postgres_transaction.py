"""What a step asks of PostgreSQL and what it leaves there; also serves plain reads."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.domain.agent import Role
from core.domain.budget import Budget, Charge
from core.domain.critique import Critique
from core.domain.events import Event, EventType
from core.domain.feedback import Feedback
from core.domain.frozen import evolve
from core.domain.message import MailStatus, Message
from core.domain.reply import KeptReply, Spent
from core.domain.task import AgentName, Kind, Task, TaskId
from core.errors import MailNotFound, StoreCorrupt, StoreFailed, TaskNotFound
from core.store import charge_rows, postgres_finding, rows
from core.store import postgres_charges as charges
from core.store import postgres_queries as queries
from core.store.postgres_families import Families, Needs
from core.store.postgres_line import Answer as Found
from core.store.postgres_sessions import Session
from core.store.postgres_words import Statement
from core.store.postgres_writes import Writes
from core.store.protocol import Answer, Wanted


class PostgresTransaction:
    """Collects what a step writes; nothing is sent before the step ends, if that can be helped.

    What a step wrote is laid over what the database answers, for all that steps ask in their
    middle. Only a list that no step asks for then is preceded by the writes themselves.
    """

    def __init__(
        self, session: Session, shown: str, now: float, needs: Needs | None = None
    ) -> None:
        """A plain read, which locks nothing, where it is not told what steps needed."""
        self.now = now
        self.session = session
        self.shown = shown
        self._needs: Needs = {} if needs is None else needs
        self.families = Families(session, shown, self._needs)
        self.writes = Writes(shown)
        self.topics: list[str] = []
        self.number: str | None = None
        """Of its transaction, by which its outcome can be asked for."""
        self._reading = needs is None
        self._tasks: dict[TaskId, Task] = {}
        self._messages: dict[int, Message] = {}

    @property
    def known(self) -> dict[TaskId, Task]:
        """As this step read or left them."""
        return self._tasks

    # One task

    async def task(self, task_id: TaskId) -> Task:
        return self._tasks.get(task_id) or await self._load(task_id)

    async def glance(self, task_id: TaskId) -> Task:
        if task_id in self._tasks:
            return self._tasks[task_id]
        (found,) = await self.session.ask(Statement(queries.TASK, (task_id,)))
        if not found.rows:
            raise TaskNotFound(task_id)
        return self._sound(found.rows[0])

    async def _load(self, task_id: TaskId) -> Task:
        one = Statement(queries.TASK, (task_id,))
        if self._reading:
            (found,) = await self.session.ask(one)
        else:
            found = await self._held_task(task_id, one)
        if not found.rows:
            raise TaskNotFound(task_id)
        return self.know(found.rows[0])

    async def _held_task(self, task_id: TaskId, one: Statement) -> Found:
        """Read after its family is held; with the first family a step also gets its number."""
        await self.families.begin_with(task_id)
        hold = self.families.hold_family_of(task_id)
        family, found = await self.session.ask(hold, one)
        for key, got, *numbers in family.rows:
            self.number = numbers[0] if numbers else self.number
            if not await self.families.took(key, got):
                (found,) = await self.session.ask(one)
        return found

    def know(self, row: Sequence[Any]) -> Task:
        """A task of a family that is held, or of the picture that is looked at."""
        task = self._sound(row)
        return self._tasks.setdefault(task.id, task)

    async def has_task(self, task_id: TaskId) -> bool:
        if task_id in self._tasks:
            return True
        return bool(await self._rows(queries.HAS_TASK, (task_id,)))

    async def ids_like(self, prefix: str, limit: int) -> list[TaskId]:
        await self.flush()
        return [TaskId(row[0]) for row in await self._rows(queries.IDS_LIKE, (prefix, limit))]

    # Several tasks

    async def children(self, parent: TaskId) -> list[Task]:
        await self._hold(parent)
        found = await self._task_list(queries.CHILDREN, (parent,))
        self._tasks.update((task.id, task) for task in found)
        added = [task for task in self.writes.added(self._tasks) if task.parent == parent]
        return sorted([*found, *added], key=lambda task: task.rank) if added else found

    async def has_open_child(self, parent: TaskId) -> bool:
        await self._hold(parent)
        own = [task for task in self._tasks.values() if task.parent == parent]
        if any(not task.settled and task.kind is not _IDEA for task in own):
            return True
        known = [str(task.id) for task in own]
        return bool(await self._rows(queries.OPEN_CHILD, (parent, known)))

    async def dependents(self, task_id: TaskId) -> list[TaskId]:
        """Whoever asks for them means to change them: their families are held alone."""
        found = await self._rows(queries.DEPENDENTS, (task_id,))
        if not self._reading:
            await self.families.hold_alone([key for _, key in found])
        added = self.writes.added(self._tasks)
        new = [task.id for task in added if task_id in task.depends_on]
        return [*(TaskId(name) for name, _ in found), *new]

    async def family(self, root: TaskId) -> list[Task]:
        top = await self.task(root)
        await self.flush()
        return [top, *await self._task_list(queries.FAMILY, (root,))]

    async def count_family(self, root: TaskId) -> int:
        await self._hold(root)
        await self.flush()
        return int((await self._rows(queries.COUNT_FAMILY, (root,)))[0][0])

    async def all_tasks(self) -> list[Task]:
        await self.flush()
        return await self._task_list(queries.ALL_TASKS)

    async def held(self) -> list[Task]:
        await self.flush()
        return await self._task_list(queries.HELD)

    async def to_be_fixed(self) -> list[Task]:
        await self.flush()
        return await self._task_list(queries.TO_BE_FIXED)

    # What belongs to tasks

    async def critiques(self, task_id: TaskId) -> list[tuple[int, Critique]]:
        await self.flush()
        found = await self._rows(queries.CRITIQUES, (task_id,))
        return [(row[0], Critique.model_validate_json(row[1])) for row in found]

    async def feedback(self, task_id: TaskId) -> list[Feedback]:
        await self.flush()
        found = await self._rows(queries.FEEDBACK, (task_id,))
        return [Feedback.model_validate_json(row[0]) for row in found]

    async def answers(self, task_id: TaskId) -> list[Answer]:
        await self.flush()
        found = await self._rows(queries.ANSWERS, (task_id,))
        names = tuple(Answer.model_fields)
        return [Answer.model_validate(dict(zip(names, row, strict=True))) for row in found]

    async def replies(self, task_id: TaskId) -> list[KeptReply]:
        await self.flush()
        return [rows.reply_of(row) for row in await self._rows(queries.REPLIES, (task_id,))]

    async def spent(self, root: TaskId) -> Spent:
        """Whoever reserves from what is left of a request holds its family."""
        await self._hold(root)
        await self.flush()
        return charge_rows.spent_of((await self._rows(charges.SPENT, (root,)))[0])

    async def spent_since(self, ts: float) -> Spent:
        await self.flush()
        if not self._reading:
            await self._rows(charges.HOLD_THE_DAY)
        return charge_rows.spent_of((await self._rows(charges.SPENT_SINCE, (ts,)))[0])

    async def charges(self, root: TaskId) -> list[Charge]:
        await self.flush()
        found = await self._rows(charges.CHARGES, (root,))
        return [charge_rows.charge_of(row) for row in found]

    async def budget(self, root: TaskId) -> Budget | None:
        await self.flush()
        found = await self._rows(charges.BUDGET, (root,))
        return charge_rows.budget_of(found[0] if found else None)

    async def busy(self, roots: frozenset[TaskId] | None) -> bool:
        await self.flush()
        within = "" if roots is None else " AND root = ANY(%s::text[])"
        values = [] if roots is None else [sorted(roots)]
        looks = " UNION ALL ".join(f"(SELECT 1 FROM {one}{within} LIMIT 1)" for one in queries.BUSY)
        return bool(await self._rows(f"{looks} LIMIT 1", values * len(queries.BUSY)))

    # Mail and events

    async def message(self, number: int) -> Message:
        if number not in self._messages:
            one = Statement(queries.MESSAGE, (number,))
            (found,) = await self.session.ask(one)
            if not found.rows:
                raise MailNotFound(number)
            self._messages[number] = rows.message_of(found.rows[0])
        return self._messages[number]

    async def messages(self, *statuses: MailStatus) -> list[Message]:
        await self.flush()
        asked = [
            Statement(queries.MESSAGES.format(status=MailStatus(status).value))
            for status in statuses or tuple(MailStatus)
        ]
        found = await self.session.ask(*asked)
        listed = [rows.message_of(row) for answer in found for row in answer.rows]
        return sorted(listed, key=lambda message: message.number)

    async def events(self, after: int, limit: int, *, whole: bool = False) -> list[Event]:
        query = queries.ALL_EVENTS if whole else queries.EVENTS
        return [rows.event_of(row) for row in await self._rows(query, (after, limit))]

    async def count_events(self) -> int:
        return int((await self._rows(queries.COUNT_EVENTS))[0][0])

    async def last_event(self) -> int:
        return int((await self._rows(queries.LAST_EVENT))[0][0])

    # Finding work

    async def next_claimable(self, wanted: Wanted) -> Task | None:
        await self.flush()
        return await postgres_finding.next_claimable(self, wanted)

    async def next_message(
        self,
        agent: AgentName,
        roles: frozenset[Role],
        roots: frozenset[TaskId] | None = None,
    ) -> Message | None:
        await self.flush()
        row = await postgres_finding.next_message(self, (agent, roles, roots))
        if row is None:
            return None
        message = rows.message_of(row)
        self._messages[message.number] = message
        return message

    # Writing

    def add_task(self, task: Task) -> None:
        self.writes.note_new(task)
        self._tasks[task.id] = task

    def put_task(self, task: Task, changed: Iterable[str]) -> None:
        known = self._tasks.get(task.id)
        if known is not None and task.version != known.version + 1:
            raise StoreFailed(self.shown, f"task {task.id!r} was changed by another step")
        self.writes.note_change(task, changed)
        self._tasks[task.id] = task

    async def send(self, message: Message) -> Message:
        number = int((await self._rows(queries.MAIL_NUMBER))[0][0])
        kept = evolve(message, {"number": number})
        self.writes.add(queries.NEW_MAIL, rows.mail_inserted(kept))
        self._messages[number] = kept
        return kept

    def put_message(self, message: Message) -> None:
        before = self._messages[message.number]
        values = (*rows.mail_state(message), message.number, before.fence)
        self.writes.add(queries.MAIL_STATE, values)
        self._messages[message.number] = message

    def add_critique(self, task: Task, critique: Critique) -> None:
        said = (int(critique.late), critique.mail, critique.model_dump_json())
        self.writes.add(queries.NEW_CRITIQUE, (task.id, task.round, *said))

    def add_feedback(self, task_id: TaskId, feedback: Feedback) -> None:
        self.writes.add(queries.NEW_FEEDBACK, (task_id, feedback.model_dump_json()))

    def add_answer(self, answer: Answer) -> None:
        said = (answer.hash, int(answer.partial), answer.ts, answer.text)
        self.writes.add(queries.NEW_ANSWER, (answer.task, answer.version, *said))

    def add_reply(self, reply: KeptReply) -> None:
        self.writes.add(queries.NEW_REPLY, rows.reply_row(reply, self.now))
        found = (reply.task, reply.key, reply.agent, self.now)
        self.writes.replied = Statement(queries.REPLIED, found)

    def discard_reply(self, number: int) -> None:
        self.writes.add(queries.DISCARD_REPLY, (number,))

    def add_charge(self, charge: Charge) -> None:
        self.writes.add(charges.NEW_CHARGE, charge_rows.row_of(charge, self.now))
        self._charged(charge)

    def settle_charge(self, charge: Charge) -> None:
        self.writes.add(charges.SETTLE, charge_rows.settled_row(charge))
        self._charged(charge)

    def _charged(self, charge: Charge) -> None:
        if self.writes.replied is None:
            found = (charge.id, charge.state.value)
            self.writes.replied = Statement(charges.CHARGED, found)

    def drop_charge(self, charge_id: str) -> None:
        self.writes.add(charges.DROP, (charge_id,))

    def put_budget(self, root: TaskId, budget: Budget) -> None:
        self.writes.add(charges.PUT_BUDGET, (root, budget.tokens, budget.usd))

    def tell(
        self, kind: EventType, task: TaskId | None, request: TaskId | None, data: Mapping[str, Any]
    ) -> None:
        self.writes.told.append((self.now, kind._value_, task, request, rows.json_of(data)))

    def ring(self, topic: str) -> None:
        self.topics.append(topic)

    async def flush(self) -> None:
        """Send what was written so far, so that a list can show it."""
        if self.writes.pending:
            self.families.may_wait = False
            await self.session.ask(*self.writes.take(self._tasks))

    # Asking

    async def _hold(self, task_id: TaskId) -> None:
        """What is asked about a task is asked while its family is held."""
        if not self._reading:
            await self.task(task_id)

    async def start_again(self) -> None:
        """Let go of everything; nothing was written yet."""
        await self.session.end()
        self.number = None
        self.families = Families(self.session, self.shown, self._needs)

    async def _rows(self, text: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        found: Found
        (found,) = await self.session.ask(Statement(text, values))
        return found.rows

    async def _task_list(self, text: str, values: Sequence[Any] = ()) -> list[Task]:
        """As this step left them."""
        found = [self._sound(row) for row in await self._rows(text, values)]
        return [self._tasks.get(task.id, task) for task in found]

    def _sound(self, row: Sequence[Any]) -> Task:
        try:
            return rows.task_of(row)
        except ValueError as error:
            raise StoreCorrupt(self.shown, f"task {row[0]!r} makes no sense") from error


_IDEA = Kind.IDEA
