"""Speech: what agents are writing at this moment; it is shown to whoever looks, never stored."""

from collections.abc import Callable, Mapping
from functools import partial

from core.domain.task import TaskId

LOOK_SECONDS = 0.25
"""How often it is worth a look while somebody writes."""


class Speech:
    def __init__(self) -> None:
        self._written: dict[TaskId, Callable[[], str]] = {}

    def __bool__(self) -> bool:
        return bool(self._written)

    def words(self) -> Mapping[TaskId, str]:
        """The text so far, by the task it is written for."""
        return {task: so_far() for task, so_far in self._written.items()}

    def hear(self, task: TaskId) -> Callable[[Callable[[], str]], None]:
        """For the call of a task: told by each try where its text so far can be read."""
        return partial(self._written.__setitem__, task)

    def over(self, task: TaskId) -> None:
        """The reply is there as a whole, or the call failed: half an answer is none."""
        self._written.pop(task, None)
