"""Stops: a request whose budget is spent rests, and gets what answer there can be."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from anyio.abc import TaskGroup

from core.domain.task import Kind, Task, TaskId
from core.errors import BudgetSpent, IllegalTransition
from core.task_board import TaskBoard

LOOK_SECONDS = 2.0
"""How often to look without being called: another process rings no bell here."""


class Stops:
    def __init__(self, board: TaskBoard, notice: Callable[[str], object]) -> None:
        self.answer: Callable[[Task], Awaitable[object]] | None = None
        """Writes a partial answer; without it a request stops with none."""
        self.under_way: set[TaskId] = set()
        """Requests that stop, and whose partial answer is not there yet."""
        self._board, self._notice = board, notice

    async def begin(self, error: BudgetSpent, group: TaskGroup) -> bool:
        """Whether the request stops for that; a single task can't, and only fails."""
        request = TaskId(error.request)
        if (await self._board.get(request)).kind is not Kind.REQUEST:
            return False
        if request not in self.under_way:
            self.under_way.add(request)
            self._notice(f"{error}; the request {request} stops with a partial answer")
            group.start_soon(self._stop, request, name=f"stop of {request}")
        return True

    async def _stop(self, request: TaskId) -> None:
        try:
            # Another process may have done the same already.
            with suppress(IllegalTransition):
                await self._board.people.budget(request)
            ear = self._board.listen_for_events()
            while any(task.holder is not None for task in await self._board.family(request)):
                await ear.wait(LOOK_SECONDS)
            if self.answer is not None:
                with suppress(IllegalTransition):
                    await self.answer(await self._board.get(request))
        finally:
            self.under_way.discard(request)
