"""One process of a crew: executors, an advisor, heartbeats and recovery on a shared board.

Run as `python -m tests.faults.worker ADDRESS JOURNAL NAME SEED LEASE_SECONDS`; it ends by itself
when every task of the board is settled. What it was told goes to a journal that a kill can't take
away.
"""

import os
import sys
from functools import partial
from pathlib import Path
from random import Random

import anyio

from core.domain.agent import Agent, Crew, Role
from core.domain.critique import Critique, advice
from core.domain.events import Event, TaskFact
from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.limits import Limits
from core.domain.message import Message
from core.domain.reports import Work
from core.domain.rules import Rules
from core.domain.task import AgentName, Reason, TaskId, TaskStatus
from core.errors import ClaimLost, IllegalTransition, MailLost
from core.flows.recovery import recover
from core.mailbox import Mailbox
from core.store import open_store
from core.store.protocol import Store
from core.task_board import Claim, TaskBoard

EXECUTORS = 3
ADVISORS = 2
POLL_SECONDS = 0.05
LONGEST_WORK_SECONDS = 0.02
SLOW_WORK = 0.01
"""How much of the work outlasts its lease and lives by heartbeats alone."""
REJECTED = 0.4
SETTLED = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})


def short_leases(lease_seconds: float) -> Rules:
    """Nobody is needed, and nothing fails by bad luck, however often a claim is lost."""
    return Rules(
        limits=Limits(
            lease_seconds=lease_seconds,
            heartbeat_seconds=lease_seconds / 4,
            critique_own_seconds=lease_seconds / 2,
            attempts=1000,
            mail_tries=1000,
        ),
        review=ReviewRules(default_mode=ReviewMode.AUTO),
    )


class Worker:
    def __init__(
        self, store: Store, rules: Rules, journal: Path, name: str, chance: Random
    ) -> None:
        self.board = TaskBoard(store, rules)
        self.mailbox = Mailbox(store, rules.limits)
        self._limits = rules.limits
        self._chance = chance
        self._executors = _agents(f"{name}-executor", Role.EXECUTOR, EXECUTORS)
        self._advisors = _agents(f"{name}-advisor", Role.ADVISOR, ADVISORS)
        self._idle: set[AgentName] = set()
        self._claims: dict[tuple[TaskId, int], tuple[Claim, anyio.CancelScope]] = {}
        self._mail: dict[int, Message] = {}
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def run(self) -> None:
        """Until nothing is left to do for anybody."""
        async with anyio.create_task_group() as crew:
            for agent in self._executors:
                crew.start_soon(self._execute, agent, name=agent.name)
            for agent in self._advisors:
                crew.start_soon(self._advise, agent, name=agent.name)
            crew.start_soon(self._beat, name="heartbeats")
            crew.start_soon(self._recover, name="recovery")
            await self._all_settled()
            crew.cancel_scope.cancel()

    def _note(self, what: str, *about: object) -> None:
        os.write(self._journal, f"{what} {' '.join(str(one) for one in about)}\n".encode())

    async def _think(self) -> None:
        slow = self._chance.random() < SLOW_WORK
        longest = self._limits.lease_seconds * 1.5 if slow else LONGEST_WORK_SECONDS
        await anyio.sleep(self._chance.uniform(longest / 2 if slow else 0, longest))

    async def _execute(self, agent: Agent) -> None:
        ear = self.board.listen(agent)
        while True:
            claim = await self.board.claim_critique(agent) or await self.board.claim_next(agent)
            if claim is not None:
                await self._work(agent, claim)
            else:
                self._idle.add(agent.name)
                await ear.wait(POLL_SECONDS)
                self._idle.discard(agent.name)

    async def _work(self, agent: Agent, claim: Claim) -> None:
        key = claim.task_id, claim.fence
        self._note("claimed", *key)
        with anyio.CancelScope() as scope:
            self._claims[key] = claim, scope
            try:
                await self._think()
                result = f"{agent.name} {claim.phase} {self._chance.random()}"
                with anyio.CancelScope(shield=True):
                    task = await self.board.submit(claim, Work(result=result))
                self._note("submitted", *key)
                if task.status is TaskStatus.COMPLETED:
                    self._note("completed", *key)
            except (ClaimLost, IllegalTransition):
                self._note("lost", *key)
            finally:
                del self._claims[key]
        if scope.cancelled_caught:
            self._note("lost", *key)

    async def _advise(self, agent: Agent) -> None:
        ear = self.mailbox.listen(agent)
        while True:
            mail = await self.mailbox.receive(agent)
            if mail is None:
                await ear.wait(POLL_SECONDS)
                continue
            self._mail[mail.number] = mail
            await self._think()
            passed = self._chance.random() >= REJECTED
            suggestions = () if passed else ("say it in fewer words",)
            opinion = advice(passed=passed, suggestions=suggestions)
            try:
                task = await self.board.add_critique(mail, opinion)
                if task.status is TaskStatus.COMPLETED and _is_mine(task.critique, mail):
                    self._note("completed", task.id, task.fence)
            except (MailLost, IllegalTransition):
                self._note("unheard", mail.task, mail.number)
            finally:
                del self._mail[mail.number]

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(self._limits.heartbeat_seconds)
            held = [claim for claim, _ in self._claims.values()]
            for claim in await self.board.heartbeat(held):
                # What is being handed in right now is shielded: there the board decides.
                if (kept := self._claims.get((claim.task_id, claim.fence))) is not None:
                    kept[1].cancel()
            for mail in list(self._mail.values()):
                try:
                    await self.mailbox.heartbeat(mail)
                except MailLost:
                    continue

    async def _recover(self) -> None:
        while True:
            crew = Crew(agents=self._executors + self._advisors, idle=frozenset(self._idle))
            await recover(self.board, self.mailbox, crew)
            await anyio.sleep(self._limits.lease_seconds / 4)

    async def _all_settled(self) -> None:
        ear = self.board.listen_for_events()
        seen = 0
        unsettled: dict[TaskId, None] = {}
        while True:
            news = await self.board.events(seen)
            for event in news:
                _follow(event, unsettled)
            if news:
                seen = news[-1].seq
            elif not unsettled:
                return
            else:
                await ear.wait(POLL_SECONDS)


def _agents(name: str, role: Role, count: int) -> tuple[Agent, ...]:
    names = [AgentName(f"{name}-{number}") for number in range(count)]
    return tuple(Agent(name=one, roles=frozenset({role})) for one in names)


def _is_mine(critique: Critique | None, mail: Message) -> bool:
    """The critique that counted is this advisor's answer; a late one leaves another there."""
    return critique is not None and (critique.mail, critique.reviewer) == (mail.number, mail.agent)


def _follow(event: Event, unsettled: dict[TaskId, None]) -> None:
    if event.task is None or not isinstance(event.data, TaskFact) or event.data.status is None:
        return
    lost = event.data.status is TaskStatus.BLOCKED and event.data.reason is Reason.DEPENDENCY
    if event.data.status in SETTLED or lost:
        unsettled.pop(event.task, None)
    else:
        unsettled[event.task] = None


async def main(address: str, journal: str, name: str, seed: str, lease_seconds: str) -> None:
    store = await open_store(address)
    try:
        rules = short_leases(float(lease_seconds))
        worker = Worker(store, rules, Path(journal), name, Random(f"{seed} {name}"))
        async with store.hearing():
            await worker.run()
    finally:
        await store.close()


if __name__ == "__main__":
    anyio.run(partial(main, *sys.argv[1:]))
