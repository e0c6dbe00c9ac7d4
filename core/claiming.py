"""Claiming: who gets which piece of work, and keeps it while they live."""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from core.consequences import effective_dependencies
from core.domain import lifecycle
from core.domain.agent import Agent, Role
from core.domain.reports import Holder
from core.domain.task import (
    CLOSE_OUT,
    FIX,
    MERGE,
    PLAN,
    WORK,
    AgentName,
    Phase,
    Task,
    TaskId,
)
from core.errors import ClaimLost
from core.recorder import Recorder
from core.retrying import retried
from core.store.protocol import Transaction, Wanted

_CLAIMED_BY = {Role.PLANNER: PLAN, Role.EXECUTOR: WORK}
Roots = frozenset[TaskId] | None
"""Only work of these roots; None for all."""


class Claim(NamedTuple):
    """A task in somebody's hands: every write under it names its fence."""

    task: Task
    phase: Phase
    fence: int

    @property
    def task_id(self) -> TaskId:
        return self.task.id


class Claiming:
    """Of one process; `TaskBoard` is its door."""

    def __init__(self, recorder: Recorder, process: str) -> None:
        self._recorder = recorder
        self._process = process

    async def claim_next(self, agent: Agent, roots: Roots) -> Claim | None:
        return await self._claim(agent.name, _new_work(agent, roots))

    async def claim_critique(self, agent: Agent, roots: Roots) -> Claim | None:
        return await self._claim(agent.name, [self._fix(agent, roots)])

    async def claim_close_out(self, agent: Agent, roots: Roots) -> Claim | None:
        return await self._claim(agent.name, [Wanted(phase=CLOSE_OUT, roots=roots)])

    async def claim_merge(self, agent: Agent) -> Claim | None:
        return await self._claim(agent.name, [Wanted(phase=MERGE)])

    @retried
    async def called(self, agents: Sequence[Agent]) -> set[AgentName]:
        """Who of these may find a critique to fix: all, where one waited too long for its own."""
        async with self._recorder.store.read() as reader:
            fixes = await reader.to_be_fixed()
        names = {agent.name for agent in agents if Role.EXECUTOR in agent.roles}
        if any(
            one.waited_idle_seconds >= self._recorder.rules.limits.critique_own_seconds
            for one in fixes
        ):
            return names
        return names & {one.executor for one in fixes}

    @retried
    async def claim_for(
        self, agents: Sequence[Agent], called: Container[AgentName], *, roots: Roots = None
    ) -> list[Claim]:
        """One look for several who are idle, what is nearly done first: fixes, answers, new work.

        Only who is called may have a critique to fix; for the others one look that finds nothing
        stands for all.
        """
        async with self._recorder.store.transaction() as tx:
            claims = []
            for agent in agents:
                own = agent.name in called
                claim = await self._first(tx, agent.name, self._wishes(agent, roots, own=own))
                if claim is not None:
                    claims.append(claim)
                elif not own:
                    break
            return claims

    def _wishes(self, agent: Agent, roots: Roots, *, own: bool) -> list[Wanted]:
        wishes = _new_work(agent, roots)
        if Role.PLANNER in agent.roles:
            wishes.insert(0, Wanted(phase=CLOSE_OUT, roots=roots))
        if own and Role.EXECUTOR in agent.roles:
            wishes.insert(0, self._fix(agent, roots))
        return wishes

    def _fix(self, agent: Agent, roots: Roots) -> Wanted:
        return Wanted(
            phase=FIX,
            roots=roots,
            own=agent.name,
            waited_seconds=self._recorder.rules.limits.critique_own_seconds,
        )

    @retried
    async def _claim(self, agent: AgentName, wishes: Sequence[Wanted]) -> Claim | None:
        async with self._recorder.store.transaction() as tx:
            return await self._first(tx, agent, wishes)

    async def _first(
        self, tx: Transaction, agent: AgentName, wishes: Sequence[Wanted]
    ) -> Claim | None:
        """The first of these wishes that can be had."""
        for wanted in wishes:
            before = await tx.next_claimable(wanted)
            if before is not None:
                return await self._taken(tx, before, agent, wanted.phase)
        return None

    async def _taken(self, tx: Transaction, before: Task, agent: AgentName, phase: Phase) -> Claim:
        keep, now = self._recorder.consequences(tx), tx.now
        inputs = None
        if phase is WORK and (before.depends_on or before.parent):
            inputs = {
                one.id: one.result_hash or "" for one in await effective_dependencies(tx, before)
            }
        holder = Holder(process=self._process, agent=agent)
        after = lifecycle.claim(before, holder, now, self._recorder.rules, inputs)
        after = await keep.keep(lifecycle.CLAIM_STEP[phase], before, after)
        await keep.follow()
        return Claim(after, phase, after.fence)

    @retried
    async def heartbeat(self, claims: Iterable[Claim]) -> list[Claim]:
        async with self._recorder.store.transaction() as tx:
            now = tx.now
            lost = []
            # In one order for all processes, so that none waits for another one's next.
            for claim in sorted(claims, key=lambda one: (one.task.root, one.task_id)):
                try:
                    task = await tx.task(claim.task_id)
                    renewed = lifecycle.renew(task, claim.fence, now, self._recorder.rules)
                    tx.put_task(renewed, ("lease_until", "version"))
                except ClaimLost:
                    lost.append(claim)
            return lost


def _new_work(agent: Agent, roots: Roots) -> list[Wanted]:
    phases = [phase for role, phase in _CLAIMED_BY.items() if role in agent.roles]
    return [Wanted(phase=phase, roots=roots) for phase in phases]
