"""Hands: what this process holds now; one heartbeat keeps all of it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from core.bell import Watch
from core.domain.message import Message
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
        self._grips: dict[str, Grip] = {}

    def __len__(self) -> int:
        return len(self._grips)

    def take(self, held: Held, cancel: Callable[[], object]) -> None:
        """Hold this; whoever works on it is cancelled at once when it is lost."""
        grip = Grip(held, cancel, self._when_lost(held))
        grip.watch.__enter__()
        self._grips[held.name] = grip

    def put_down(self, held: Held) -> bool:
        """Hold it no more, for good; whether it was held until now, and not lost."""
        grip = self._grips.pop(held.name, None)
        if grip is not None:
            grip.watch.__exit__()
        return grip is not None

    async def may_report(self, held: Held) -> bool:
        """It is ours still: nobody took it, and no report of it was taken."""
        return not await self._lost([held])

    async def beat(self) -> None:
        """Renew every lease; work under a lost one stops."""
        for held in await self._lost([grip.held for grip in self._grips.values()]):
            self._drop(held)

    async def _lost(self, held: Sequence[Held]) -> list[Held]:
        """Those of which the lease could not be renewed."""
        claims = [one.claim for one in held if one.claim is not None]
        mails = [one.mail for one in held if one.mail is not None]
        lost_claims = await self._board.heartbeat(claims) if claims else []
        lost_mails = await self._mailbox.renew_all(mails) if mails else []
        return [*map(hold_claim, lost_claims), *map(hold_mail, lost_mails)]

    def _when_lost(self, held: Held) -> Watch:
        if held.claim is not None:
            return self._board.when_lost(held.claim, partial(self._drop, held))
        assert held.mail is not None, "a claim or a mail is held"
        return self._mailbox.when_lost(held.mail, partial(self._drop, held))

    def _drop(self, held: Held) -> None:
        # A piece of work that was handed in meanwhile is not here any more.
        grip = self._grips.get(held.name)
        if grip is not None:
            self.put_down(held)
            grip.cancel()


class Grip(NamedTuple):
    """One piece of work in the hands of this process."""

    held: Held
    cancel: Callable[[], object]
    watch: Watch


def hold_claim(claim: Claim) -> Held:
    return Held(f"{claim.task.id}.{claim.fence}", claim=claim)


def hold_mail(mail: Message) -> Held:
    return Held(f"mail {mail.number}.{mail.fence}", mail=mail)
