"""Hands: what this process holds now; one heartbeat keeps all of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import anyio

from core.domain.message import Message
from core.errors import MailLost
from core.mailbox import Mailbox
from core.task_board import Claim, TaskBoard


class Held(NamedTuple):
    """A claim on a task, or a mail that was taken."""

    name: str
    claim: Claim | None = None
    mail: Message | None = None


class Hands:
    def __init__(self, board: TaskBoard, mailbox: Mailbox) -> None:
        self._board = board
        self._mailbox = mailbox
        self._held: dict[str, tuple[Held, anyio.CancelScope]] = {}

    def __len__(self) -> int:
        return len(self._held)

    @contextmanager
    def holding(self, held: Held) -> Iterator[anyio.CancelScope]:
        """Work under a claim: the scope ends at once when the claim is lost."""
        scope = anyio.CancelScope()
        self._held[held.name] = (held, scope)
        try:
            with self._when_lost(held, scope.cancel), scope:
                yield scope
        finally:
            # Before the report, which ends the claim itself.
            del self._held[held.name]

    def _when_lost(self, held: Held, tell: Callable[[], object]) -> AbstractContextManager[None]:
        if held.claim is not None:
            return self._board.when_lost(held.claim, tell)
        assert held.mail is not None, "a claim or a mail is held"
        return self._mailbox.when_lost(held.mail, tell)

    async def beat(self) -> None:
        """Renew every lease; work under a lost one stops."""
        claims = [held.claim for held, _ in self._held.values() if held.claim is not None]
        lost = await self._board.heartbeat(claims) if claims else []
        for claim in lost:
            self._drop(_claim_name(claim))
        for held, _ in list(self._held.values()):
            if held.mail is not None:
                try:
                    await self._mailbox.heartbeat(held.mail)
                except MailLost:
                    self._drop(held.name)

    def _drop(self, name: str) -> None:
        # A piece of work that was handed in meanwhile is not here any more.
        if name in self._held:
            self._held[name][1].cancel()


def hold_claim(claim: Claim) -> Held:
    return Held(_claim_name(claim), claim=claim)


def hold_mail(mail: Message) -> Held:
    return Held(f"mail {mail.number}.{mail.fence}", mail=mail)


def _claim_name(claim: Claim) -> str:
    return f"{claim.task_id}.{claim.fence}"
