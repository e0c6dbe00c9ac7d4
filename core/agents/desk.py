"""Desk: where the agents of a role wait; one look finds work for all who are idle."""

import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from core.agents.job import Job, Shift, carry_out
from core.agents.sources import Source
from core.domain.agent import Agent
from core.domain.task import AgentName

POLL_SECONDS = 5.0
"""How long a desk waits at most until it looks without being called: other processes ring no bell
here, or their ring may be lost."""
MOST_AT_ONCE = 50
"""So many get work in one transaction; they begin before the next ones do."""
LONGEST_LOOK_SECONDS = 60.0


class Crew(Shift, Protocol):
    """What a desk must know of the crew it belongs to."""

    @property
    def stopping(self) -> bool: ...
    async def unless_stopped(self, wait: Callable[[], Awaitable[object]], seconds: float) -> None:
        """Wait so long at most."""
        ...

    async def pause(self, server: str) -> None:
        """Wait while this model server is out."""
        ...

    def rested(self) -> None:
        """Nobody at a desk has anything to do."""
        ...


class Desk:
    def __init__(self, agents: Sequence[Agent], source: Source, server: str = "") -> None:
        self.agents = tuple(agents)
        self.server = server
        """Where their calls go; their work rests while that is out."""
        self.idle = {agent.name: agent for agent in agents}
        """Who has nothing to do, the longest first."""
        self._source = source
        self._called: dict[AgentName, None] = {}
        """Who may find something that is for them alone."""
        self._more = False
        """There may be something for anybody."""
        self._look_again = 0.0
        self._news = anyio.Event()

    @property
    def rests(self) -> bool:
        return len(self.idle) == len(self.agents)

    async def serve(self, crew: Crew, group: TaskGroup) -> None:
        """Find, and let it be done in this group, until the crew stops."""
        with self._source.watch(self.agents, self._call):
            while True:
                await crew.pause(self.server)
                if crew.stopping:
                    return
                if anyio.current_time() >= self._look_again:
                    await self._look_around()
                chosen = self._chosen()
                if chosen:
                    await self._look(chosen, crew, group)
                else:
                    self._news = anyio.Event()
                    left = self._look_again - anyio.current_time()
                    await crew.unless_stopped(self._news.wait, left)

    def _call(self, name: AgentName | None) -> None:
        if name is None:
            self._more = True
        else:
            self._called[name] = None
        self._news.set()

    async def _look_around(self) -> None:
        """Other processes, and those before this one, rang no bell here."""
        # Not all processes at the same time.
        self._look_again = anyio.current_time() + POLL_SECONDS * random.uniform(0.4, 1)
        # A few are looked for one by one in one go; of many only those who may find something.
        few = len(self.agents) <= MOST_AT_ONCE
        names = self.idle if few else await self._source.called(self.agents)
        self._called |= dict.fromkeys(names)
        self._more = True

    def _chosen(self) -> list[Agent]:
        """For whom to look now: who is called, and who is idle when there may be more."""
        names = [name for name in self._called if name in self.idle]
        if self._more and len(names) < MOST_AT_ONCE:
            others = (name for name in self.idle if name not in self._called)
            names += islice(others, MOST_AT_ONCE - len(names))
        return [self.idle[name] for name in names[:MOST_AT_ONCE]]

    async def _look(self, agents: Sequence[Agent], crew: Crew, group: TaskGroup) -> None:
        called = {agent.name for agent in agents if agent.name in self._called}
        for name in called:
            del self._called[name]
        more, self._more = self._more, False
        # What was claimed must reach who does it or gives it back, also when all is cancelled.
        with anyio.fail_after(LONGEST_LOOK_SECONDS, shield=True):
            jobs = await self._source.find(agents, called)
        if more and len(jobs) == len(agents):
            self._more = True
        for job in jobs:
            agent = self.idle.pop(job.agent)
            work = group.start_soon(self._carry_out, agent, job, crew, name=job.agent)
            crew.hands.take(job.held, work.cancel)

    async def _carry_out(self, agent: Agent, job: Job, crew: Crew) -> None:
        try:
            await carry_out(job, crew, self.server)
        finally:
            self.idle[agent.name] = agent
            if self._more or agent.name in self._called:
                self._news.set()
            if self.rests:
                crew.rested()
