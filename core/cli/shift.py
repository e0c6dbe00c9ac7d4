"""A shift: the crew works, a screen shows it, signals stop it."""

from collections.abc import Awaitable, Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from core.app import Swarm
from core.cli.screens import Screen
from core.cli.stopping import Stopping
from core.cli.worth import before_a_big_plan
from core.domain.agent import Role
from core.domain.events import Event, EventType
from core.domain.task import TaskId
from core.errors import SwarmError
from core.task_board import Roots

Enough = Callable[[], Awaitable[bool]]


async def _never() -> bool:
    return False


@dataclass
class Shift:
    swarm: Swarm
    screen: Screen
    roots: Roots = None
    roles: Container[Role] = frozenset(Role)
    enough: Enough = _never
    """Asked after every event; the crew stops when it says so."""
    picture: bool = True
    """The screen ends with one."""
    cursor: int = 0
    touched: dict[TaskId, None] = field(default_factory=dict)
    """The requests something happened to, in that order."""

    async def work(self) -> bool:
        """Until nothing is left without a person; False when a signal ended it before that."""
        stopping = Stopping(self.screen.say)
        try:
            with _bare_errors():
                await self._work(stopping)
            await self._catch_up()
            await self.screen.finish(picture=self.picture)
        finally:
            self.screen.close()
        return not stopping.signals or not await self.swarm.board.busy(self.roots)

    async def _work(self, stopping: Stopping) -> None:
        async with anyio.create_task_group() as group:
            await group.start(stopping.obey, group.cancel_scope, name="signals")
            group.start_soon(self.screen.keep, name="screen")
            group.start_soon(self._follow, stopping, name="events")
            await self.swarm.work(
                self.roots, notice=self.screen.say, started=stopping.over, roles=self.roles
            )
            group.cancel_scope.cancel()

    async def _follow(self, stopping: Stopping) -> None:
        async for event in self.swarm.events(self.cursor, follow=True):
            self._take(event)
            if event.type is EventType.REQUEST_DECOMPOSED and event.task == event.request:
                await self._tell_worth(event)
            if await self.enough():
                stopping.enough()

    async def _tell_worth(self, planned: Event) -> None:
        assert planned.request is not None, "a request was planned"
        told = await before_a_big_plan(self.swarm, await self.swarm.board.family(planned.request))
        if told is not None and self.picture:
            self.screen.say(told)

    async def _catch_up(self) -> None:
        """What happened between the last look and the end."""
        async for event in self.swarm.events(self.cursor):
            self._take(event)

    def _take(self, event: Event) -> None:
        self.cursor = event.seq
        if event.request is None or (self.roots is not None and event.request not in self.roots):
            return
        self.touched[event.request] = None
        self.screen.show(event)


@contextmanager
def _bare_errors() -> Iterator[None]:
    """The one error a person can act on, out of the groups it came in."""
    try:
        yield
    except BaseExceptionGroup as group:
        known, others = group.split((SwarmError, OSError))
        if known is None:
            raise
        error: BaseException = known
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from others
