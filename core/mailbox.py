"""Mailbox: send, receive, give back; mail is stored, and handled at least once."""

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from core.bell import Ear, Watch
from core.consequences import lost_mail_topic, mail_fact, mail_topic
from core.domain import message
from core.domain.agent import Agent
from core.domain.events import EventType
from core.domain.frozen import evolve
from core.domain.limits import Limits
from core.domain.message import MailStatus, Message
from core.domain.reports import Holder
from core.domain.task import AgentName, Task, TaskId
from core.errors import MailLost
from core.process import surely_dead, this_process
from core.retrying import retried
from core.store.protocol import Store, Transaction


class Letter(NamedTuple):
    """A mail that was taken, and the task it is about as it was then."""

    mail: Message
    task: Task | None


class Mailbox:
    def __init__(
        self, store: Store, limits: Limits | None = None, *, process: str | None = None
    ) -> None:
        self._store = store
        self._limits = limits or Limits()
        self._process = process or str(this_process())

    def listen(self, agent: Agent) -> Ear:
        """Hear of mail for this agent; listen, then try to receive, then wait."""
        topics = [f"mail:{role}" for role in agent.roles]
        return self._store.bell.listen(*topics, f"mail:@{agent.name}")

    @retried
    async def send(self, new: Message) -> Message:
        async with self._store.transaction() as tx:
            sent = await tx.send(evolve(new, {"created": tx.now}))
            tx.ring(mail_topic(sent))
            self._tell(tx, EventType.MAIL_SENT, sent)
            return sent

    @retried
    async def receive(
        self, agent: Agent, *, roots: frozenset[TaskId] | None = None
    ) -> Message | None:
        """Take the oldest mail for this agent or one of its roles, under a lease."""
        async with self._store.transaction() as tx:
            return await self._take(tx, agent, roots)

    @retried
    async def called(self, agents: Sequence[Agent]) -> set[AgentName]:
        """Who of these may find mail that others don't."""
        async with self._store.read() as reader:
            queued = await reader.messages(MailStatus.QUEUED)
        names = {agent.name for agent in agents}
        if any(names.intersection(mail.not_for) for mail in queued):
            return names
        return names & {mail.to_agent for mail in queued}

    @retried
    async def receive_for(
        self,
        agents: Sequence[Agent],
        called: Container[AgentName],
        *,
        roots: frozenset[TaskId] | None = None,
    ) -> list[Letter]:
        """One look for several who are idle.

        Only who is called may have mail of their own; for the others one look that finds nothing
        stands for all.
        """
        async with self._store.transaction() as tx:
            letters = []
            for agent in agents:
                mail = await self._take(tx, agent, roots)
                if mail is not None:
                    task = None if mail.task is None else await tx.glance(mail.task)
                    letters.append(Letter(mail, task))
                elif agent.name not in called:
                    break
            return letters

    async def _take(
        self, tx: Transaction, agent: Agent, roots: frozenset[TaskId] | None
    ) -> Message | None:
        found = await tx.next_message(agent.name, agent.roles, roots)
        if found is None:
            return None
        holder = Holder(process=self._process, agent=agent.name)
        taken = message.take(found, holder, tx.now, self._limits)
        tx.put_message(taken)
        self._tell(tx, EventType.MAIL_TAKEN, taken)
        return taken

    @retried
    async def heartbeat(self, mail: Message) -> Message:
        """Renew the lease of a taken mail."""
        async with self._store.transaction() as tx:
            current = await tx.message(mail.number)
            renewed = message.renew(current, mail.fence, tx.now, self._limits)
            tx.put_message(renewed)
            return renewed

    @retried
    async def renew_all(self, mails: Iterable[Message]) -> list[Message]:
        """Renew the leases of these taken mails; returns those that are lost."""
        async with self._store.transaction() as tx:
            lost = []
            for mail in mails:
                try:
                    current = await tx.message(mail.number)
                    tx.put_message(message.renew(current, mail.fence, tx.now, self._limits))
                except MailLost:
                    lost.append(mail)
            return lost

    @retried
    async def acknowledge(self, mail: Message) -> Message:
        """Handled, and nothing on the board had to change with it."""
        async with self._store.transaction() as tx:
            done = message.acknowledge(await tx.message(mail.number), mail.fence)
            tx.put_message(done)
            self._tell(tx, EventType.MAIL_ACKNOWLEDGED, done)
            return done

    @retried
    async def give_back(self, mail: Message, *, counted: bool = True) -> Message:
        """Back in the queue for another try; a stop or an outage is not counted as one."""
        async with self._store.transaction() as tx:
            current = await tx.message(mail.number)
            message.hold(current, mail.fence)
            return self._returned(tx, current, counted=counted)

    def when_lost(self, mail: Message, tell: Callable[[], object]) -> Watch:
        """Inside this, call this at once when somebody in this process takes the mail back."""
        return self._store.bell.watch({lost_mail_topic(mail.number): tell})

    def when_mail_comes(
        self, agents: Sequence[Agent], tell: Callable[[AgentName | None], object]
    ) -> Watch:
        """Inside this, name who may have mail now; None stands for any of them."""
        acts: dict[str, Callable[[], object]] = {}
        for agent in agents:
            acts |= {f"mail:{role}": lambda: tell(None) for role in agent.roles}
            acts[f"mail:@{agent.name}"] = partial(tell, agent.name)
        return self._store.bell.watch(acts)

    @retried
    async def dead_letters(self) -> list[Message]:
        async with self._store.read() as reader:
            return await reader.messages(MailStatus.DEAD)

    @retried
    async def recover(self) -> list[Message]:
        """Take back mail whose holder went silent."""
        async with self._store.read() as reader:
            taken = await reader.messages(MailStatus.TAKEN)
            now = reader.now
        silent = [mail for mail in taken if _is_silent(mail, now)]
        return [mail for found in silent if (mail := await self._take_back(found)) is not None]

    @retried
    async def _take_back(self, mail: Message) -> Message | None:
        async with self._store.transaction() as tx:
            current = await tx.message(mail.number)
            try:
                message.hold(current, mail.fence)
            except MailLost:
                return None
            if not _is_silent(current, tx.now):
                return None
            return self._returned(tx, current, counted=True)

    def _returned(self, tx: Transaction, mail: Message, *, counted: bool) -> Message:
        back = message.give_back(mail, self._limits, counted=counted)
        tx.put_message(back)
        if back.status is MailStatus.DEAD:
            self._tell(tx, EventType.MAIL_DIED, back)
        else:
            tx.ring(mail_topic(back))
            self._tell(tx, EventType.MAIL_RETURNED, back)
        return back

    def _tell(self, tx: Transaction, kind: EventType, mail: Message) -> None:
        tx.tell(kind, mail.task, mail.root, mail_fact(mail))


def _is_silent(mail: Message, now: float) -> bool:
    if mail.holder is None or mail.lease_until is None:
        return False
    return now >= mail.lease_until or surely_dead(mail.holder)
