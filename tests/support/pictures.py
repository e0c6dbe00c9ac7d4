"""Boards on which a situation was reached once, to be gone on from many times."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.consequences import Listener
from core.domain.steps import place_of
from core.domain.task import Task, TaskId
from tests.support.board import House, open_house
from tests.support.clock import VirtualClock
from tests.support.situations import Situation


@dataclass(frozen=True)
class Picture:
    folder: Path
    task: TaskId
    now: float


class Pictures:
    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._taken: dict[str, Picture] = {}

    @asynccontextmanager
    async def house(
        self, situation: Situation, folder: Path, *, listeners: tuple[Listener, ...] = ()
    ) -> AsyncIterator[tuple[House, Task]]:
        """A house of its own in this folder, and the task that is in this situation there."""
        if situation.name not in self._taken:
            self._taken[situation.name] = await self._take(situation)
        picture = self._taken[situation.name]
        shutil.copytree(picture.folder, folder, dirs_exist_ok=True)
        clock = VirtualClock(picture.now)
        async with open_house(folder, situation.rules, listeners=listeners, clock=clock) as house:
            yield house, await house.task(picture.task)

    async def _take(self, situation: Situation) -> Picture:
        folder = self._factory.mktemp("situation")
        async with open_house(folder, situation.rules) as house:
            task = await situation.bring(house)
            assert place_of(task) is situation.place
            return Picture(folder, task.id, house.clock.now())
