"""What the steps of one connection know without asking, as long as nobody else wrote."""

from collections.abc import Mapping
from itertools import islice
from typing import TypeVar

from core.domain.message import Message
from core.domain.task import Task, TaskId

Key = TypeVar("Key")
Value = TypeVar("Value")

CACHED_TASKS = 8192
CACHED_MESSAGES = 1024


class Shared:
    """What all steps of one connection know, true as long as no other process wrote."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.tasks: dict[TaskId, Task] = {}
        self.messages: dict[int, Message] = {}
        self.last_seq = 0
        self.last_mail = 0

    def forget(self) -> None:
        self.tasks.clear()
        self.messages.clear()

    def next_mail(self) -> int:
        self.last_mail += 1
        return self.last_mail

    def remember(self, tasks: Mapping[TaskId, Task]) -> None:
        self.tasks.update(tasks)
        if len(self.tasks) > CACHED_TASKS:
            self.tasks = _newer_half(self.tasks)

    def remember_messages(self, messages: Mapping[int, Message]) -> None:
        self.messages.update(messages)
        if len(self.messages) > CACHED_MESSAGES:
            self.messages = _newer_half(self.messages)


def _newer_half(kept: dict[Key, Value]) -> dict[Key, Value]:
    # All at once: taking one at a time off the front of a dict gets slower with each one taken.
    return dict(islice(kept.items(), len(kept) // 2, None))
