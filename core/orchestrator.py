"""Orchestrator: starts all loops in one task group, and stops them together."""

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup

from core.agents.desk import Desk
from core.agents.hands import Hands
from core.agents.outages import EVERYBODY, Outages
from core.agents.stops import Stops
from core.clock import Clock
from core.domain.agent import Crew
from core.domain.limits import Limits
from core.errors import (
    BudgetSpent,
    DayBudgetSpent,
    ModelOutage,
    SwarmError,
)
from core.flows.recovery import recover
from core.mailbox import Mailbox
from core.task_board import Roots, TaskBoard

GRACE_SECONDS = 10.0
"""How long running calls may go on after a first stop."""
LOOK_SECONDS = 1.0
"""How often a crew with nothing to do looks whether others still work."""

Notice = Callable[[str], object]


class Orchestrator:
    """One crew at work; ends when nothing can become ready without a person."""

    def __init__(
        self,
        board: TaskBoard,
        mailbox: Mailbox,
        limits: Limits,
        clock: Clock,
        notice: Notice = lambda text: None,
    ) -> None:
        self.hands = Hands(board, mailbox)
        self._board, self._mailbox, self._limits = board, mailbox, limits
        self._clock = clock
        self.stops = Stops(board, notice)
        self._outages = Outages(clock, notice)
        self._group: TaskGroup | None = None
        self._desks: Sequence[Desk] = ()
        self._waits: set[anyio.CancelScope] = set()
        self._someone_rests = anyio.Event()
        self._stop_after: float | None = None
        self._at_once = anyio.Event()
        self._error: SwarmError | None = None

    @property
    def stopping(self) -> bool:
        return self._stop_after is not None

    def stop(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Take no new work; what runs has this long to end, then it is let go."""
        if self._stop_after is None or grace_seconds < self._stop_after:
            self._stop_after = grace_seconds
        if grace_seconds <= 0:
            self._at_once.set()
        for scope in list(self._waits):
            scope.cancel()
        self._someone_rests.set()

    async def run(self, desks: Sequence[Desk], roots: Roots = None) -> None:
        """Work until nothing is left to do for these roots, or until a stop."""
        self._desks = desks
        self._outages.servers = frozenset(desk.server for desk in desks)
        try:
            await self._recover()
            async with anyio.create_task_group() as self._group:
                group = self._group
                for number, desk in enumerate(desks):
                    group.start_soon(desk.serve, self, group, name=f"desk {number}")
                group.start_soon(self._beat, name="heartbeat")
                await self._until_at_rest(roots)
                await self._let_calls_end()
                group.cancel_scope.cancel()
        except BaseExceptionGroup as group_error:
            raise _told(group_error) from group_error
        if self._error is not None:
            raise self._error

    @property
    def _at_rest(self) -> bool:
        return not self.stops.under_way and all(desk.rests for desk in self._desks)

    async def _until_at_rest(self, roots: Roots) -> None:
        while not self.stopping:
            if self._at_rest and not await self._board.busy(roots):
                # A letter that has just died sends its review to a person.
                if not await self._recover():
                    return
                continue
            self._someone_rests = anyio.Event()
            with anyio.move_on_after(LOOK_SECONDS):
                await self._someone_rests.wait()

    async def _let_calls_end(self) -> None:
        if not self._stop_after:
            return
        with anyio.move_on_after(self._stop_after):
            while not self._at_rest and not self._at_once.is_set():
                self._someone_rests = anyio.Event()
                with anyio.move_on_after(LOOK_SECONDS / 10):
                    await self._someone_rests.wait()

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(self._limits.heartbeat_seconds)
            await self.hands.beat()
            await self._recover()

    async def _recover(self) -> bool:
        """Whether anything was taken back or moved on."""
        agents = [agent for desk in self._desks for agent in desk.agents]
        idle = [name for desk in self._desks for name in desk.idle]
        crew = Crew(agents=tuple(agents), idle=frozenset(idle))
        letters, tasks = await recover(self._board, self._mailbox, crew)
        return bool(letters or tasks)

    # What agents tell the crew

    def rested(self) -> None:
        if self._at_rest:
            self._someone_rests.set()

    async def pause(self, server: str) -> None:
        while not self.stopping and (left := self._outages.pause_seconds(server)) > 0:
            await self.unless_stopped(partial(self._clock.sleep, left))

    def answered(self, server: str) -> None:
        self._outages.answered(server)

    async def outage(self, server: str, error: ModelOutage) -> None:
        """Work rests and nobody's attempt is used; too long an outage ends the run."""
        server = EVERYBODY if isinstance(error, DayBudgetSpent) else server
        if not self._outages.began(server, error):
            self.refused(error)

    async def budget_spent(self, error: BudgetSpent) -> bool:
        assert self._group is not None, "only who works can spend"
        return await self.stops.begin(error, self._group)

    def refused(self, error: SwarmError) -> None:
        """No call can succeed: everything stops, nothing is lost."""
        self._error = self._error or error
        self.stop(0)

    async def unless_stopped(
        self, wait: Callable[[], Awaitable[object]], seconds: float = math.inf
    ) -> None:
        with anyio.move_on_after(seconds) as scope:
            self._waits.add(scope)
            try:
                if not self.stopping:
                    await wait()
            finally:
                self._waits.discard(scope)


def _told(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error of a group a person can act on, else the group itself."""
    errors = group.exceptions
    while len(errors) == 1 and isinstance(errors[0], BaseExceptionGroup):
        errors = errors[0].exceptions
    first = next((one for one in errors if isinstance(one, SwarmError)), None)
    return first or (errors[0] if len(errors) == 1 else group)
