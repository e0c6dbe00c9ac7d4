"""Runs a step in a transaction of its own and records it with all that follows."""

from collections.abc import Callable, Sequence
from typing import Any

from core.consequences import Consequences, Listener
from core.domain.rules import Rules
from core.domain.steps import Step
from core.domain.task import Task, TaskId
from core.retrying import retried
from core.store.protocol import Store, Transaction


class Recorder:
    def __init__(self, store: Store, rules: Rules, listeners: Sequence[Listener]) -> None:
        self.store = store
        self.rules = rules
        self._listeners = tuple(listeners)

    def consequences(self, tx: Transaction) -> Consequences:
        """What keeps the steps of this transaction."""
        return Consequences(tx, self._listeners)

    @retried
    async def change(
        self, task_id: TaskId, step: Step, change: Callable[[Task, float], Task], **said: Any
    ) -> Task:
        """A step of one task that needs to look at no other."""
        async with self.store.transaction() as tx:
            keep = self.consequences(tx)
            before = await tx.task(task_id)
            await keep.keep(step, before, change(before, tx.now), **said)
            await keep.follow()
            return await tx.task(task_id)
