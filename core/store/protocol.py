"""Store and Transaction: all the house asks of a database."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from core.bell import Bell
from core.clock import Clock
from core.domain.agent import Role
from core.domain.budget import Budget, Charge
from core.domain.critique import Critique
from core.domain.events import Event, EventType
from core.domain.feedback import Feedback
from core.domain.message import MailStatus, Message
from core.domain.reply import KeptReply, Spent
from core.domain.task import AgentName, Phase, Task, TaskId


class Answer(BaseModel):
    """One version of what a task has come to; old ones are kept."""

    model_config = ConfigDict(frozen=True)

    task: TaskId
    version: int
    hash: str
    partial: bool
    ts: float
    text: str


class Wanted(NamedTuple):
    """What an agent would claim."""

    phase: Phase
    roots: frozenset[TaskId] | None = None
    """Only work of these roots; None for all."""
    own: AgentName | None = None
    """A fix: only one of this agent's own work, or one that waited this long for its executor."""
    waited_seconds: float = 0.0


class Reader(Protocol):
    """What can be asked. Lists come in plan order, or in the order things happened."""

    @property
    def now(self) -> float:
        """The time of this transaction, by the store's clock."""
        ...

    async def task(self, task_id: TaskId) -> Task: ...
    async def glance(self, task_id: TaskId) -> Task:
        """A task as it was kept last, for who decides nothing from it."""
        ...

    async def has_task(self, task_id: TaskId) -> bool: ...
    async def ids_like(self, prefix: str, limit: int) -> list[TaskId]: ...
    async def children(self, parent: TaskId) -> list[Task]: ...
    async def has_open_child(self, parent: TaskId) -> bool: ...
    async def dependents(self, task_id: TaskId) -> list[TaskId]: ...
    async def family(self, root: TaskId) -> list[Task]: ...
    async def count_family(self, root: TaskId) -> int: ...
    async def all_tasks(self) -> list[Task]: ...
    async def held(self) -> list[Task]: ...
    async def to_be_fixed(self) -> list[Task]: ...
    async def critiques(self, task_id: TaskId) -> list[tuple[int, Critique]]:
        """With the round each belongs to."""
        ...

    async def feedback(self, task_id: TaskId) -> list[Feedback]: ...
    async def answers(self, task_id: TaskId) -> list[Answer]: ...
    async def replies(self, task_id: TaskId) -> list[KeptReply]: ...
    async def charges(self, root: TaskId) -> list[Charge]: ...
    async def spent(self, root: TaskId) -> Spent: ...
    async def spent_since(self, ts: float) -> Spent: ...
    async def budget(self, root: TaskId) -> Budget | None:
        """What was said for this root alone; None: what the settings say."""
        ...

    async def busy(self, roots: frozenset[TaskId] | None) -> bool:
        """Agents can do something for these roots now, or are at it."""
        ...

    async def message(self, number: int) -> Message: ...
    async def messages(self, *statuses: MailStatus) -> list[Message]: ...
    async def events(self, after: int, limit: int, *, whole: bool = False) -> list[Event]:
        """Events past a cursor; one that is kept later always has a higher number.

        An event that is kept may have to wait until it can be promised that no lower number comes
        after it; the `whole` of a picture has those too, and is no place for a cursor.
        """
        ...

    async def count_events(self) -> int: ...
    async def last_event(self) -> int:
        """The number of the newest event that a cursor can stand at; 0 where there is none."""
        ...


class Transaction(Reader, Protocol):
    """One step: all of it is kept, or nothing. What it read stays true until it is kept.

    Writes are only collected; they are made when the step is left, or before a read that could
    see them. A task or message is put after it was read, sent or added in the same step.
    """

    async def next_claimable(self, wanted: Wanted) -> Task | None: ...
    async def next_message(
        self,
        agent: AgentName,
        roles: frozenset[Role],
        roots: frozenset[TaskId] | None = None,
    ) -> Message | None: ...
    def add_task(self, task: Task) -> None: ...
    def put_task(self, task: Task, changed: Iterable[str]) -> None:
        """The next version of a task, and the fields that are new in it."""
        ...

    async def send(self, message: Message) -> Message: ...
    def put_message(self, message: Message) -> None: ...
    def add_critique(self, task: Task, critique: Critique) -> None: ...
    def add_feedback(self, task_id: TaskId, feedback: Feedback) -> None: ...
    def add_answer(self, answer: Answer) -> None: ...
    def add_reply(self, reply: KeptReply) -> None:
        """Dated by this transaction."""
        ...

    def discard_reply(self, number: int) -> None: ...
    def add_charge(self, charge: Charge) -> None:
        """Dated by this transaction."""
        ...

    def settle_charge(self, charge: Charge) -> None:
        """Its model, state, estimates, tokens and cost; it has to be there."""
        ...

    def drop_charge(self, charge_id: str) -> None:
        """The call never reached a server."""
        ...

    def put_budget(self, root: TaskId, budget: Budget) -> None: ...
    def tell(
        self, kind: EventType, task: TaskId | None, request: TaskId | None, data: Mapping[str, Any]
    ) -> None:
        """An event of this moment; its data has the fields of its type's fact."""
        ...

    def ring(self, topic: str) -> None:
        """Wake who waits for this, once the step is kept."""
        ...


class Store(Protocol):
    """A database. Nothing may be awaited inside a transaction but the transaction itself.

    A step may be broken off and nothing of it kept (`StoreInterrupted`): whoever took it does it
    again, which is what `core.retrying` is for.
    """

    @property
    def bell(self) -> Bell: ...
    @property
    def clock(self) -> Clock:
        """What leases are counted by: the same time for everybody on this board."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """One step. Leaving it returns after the step is kept for good."""
        ...

    def read(self) -> AbstractAsyncContextManager[Reader]:
        """One consistent picture."""
        ...

    def hearing(self) -> AbstractAsyncContextManager[None]:
        """While it lasts, the bell also rings for work that other processes made possible."""
        ...

    async def close(self) -> None: ...
