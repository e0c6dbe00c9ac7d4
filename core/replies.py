"""Replies: every word a model said, kept before it is used."""

from core.charges import Settlement, book
from core.domain.reply import KeptReply, Spent
from core.domain.task import TaskId
from core.retrying import retried
from core.store.protocol import Store


class Replies:
    def __init__(self, store: Store) -> None:
        self._store = store

    @retried
    async def keep(self, reply: KeptReply, settlement: Settlement) -> None:
        """Together with what its call cost."""
        async with self._store.transaction() as tx:
            tx.add_reply(reply)
            book(tx, settlement)

    @retried
    async def kept(self, task_id: TaskId, key: str) -> KeptReply | None:
        """The reply to this very question, if one was paid for and not discarded."""
        async with self._store.read() as reader:
            found = [one for one in await reader.replies(task_id) if one.key == key]
            return next((one for one in reversed(found) if not one.discarded), None)

    @retried
    async def discard(self, task_id: TaskId, label: str) -> None:
        """What was said could not be used: ask anew next time."""
        async with self._store.transaction() as tx:
            for reply in await tx.replies(task_id):
                if reply.label == label and not reply.discarded:
                    tx.discard_reply(reply.number)

    @retried
    async def of(self, task_id: TaskId) -> list[KeptReply]:
        async with self._store.read() as reader:
            return await reader.replies(task_id)

    @retried
    async def spent(self, root: TaskId) -> Spent:
        """What all calls for a request have cost."""
        async with self._store.read() as reader:
            return await reader.spent(root)
