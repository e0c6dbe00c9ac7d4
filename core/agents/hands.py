"""Hands: what this process holds now; one heartbeat keeps all of it."""

from typing import NamedTuple

import anyio

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
        self.grips: dict[str, Grip] = {}
        self.reports: set[Grip] = set()
        """What is being handed in; the store's own limits end what takes too long."""

    def __len__(self) -> int:
        return len(self.grips)

    def holding(self, held: Held) -> "Grip":
        """Work under a claim: the scope ends at once when the claim is lost."""
        return Grip(self, held)

    def when_lost(self, held: Held, scope: anyio.CancelScope) -> Watch:
        if held.claim is not None:
            return self._board.when_lost(held.claim, scope.cancel)
        assert held.mail is not None, "a claim or a mail is held"
        return self._mailbox.when_lost(held.mail, scope.cancel)

    async def beat(self) -> None:
        """Renew every lease; work under a lost one stops."""
        held = [grip.held for grip in self.grips.values()]
        claims = [one.claim for one in held if one.claim is not None]
        for claim in await self._board.heartbeat(claims) if claims else ():
            self._drop(_claim_name(claim))
        mails = [one.mail for one in held if one.mail is not None]
        for mail in await self._mailbox.renew_all(mails) if mails else ():
            self._drop(_mail_name(mail))

    def hurry(self, seconds: float) -> None:
        """Everything stops: what is being handed in has so long to end."""
        for grip in self.reports:
            grip.scope.deadline = anyio.current_time() + seconds

    def _drop(self, name: str) -> None:
        # A piece of work that was handed in meanwhile is not here any more.
        if name in self.grips:
            self.grips[name].scope.cancel()


class Grip:
    """One piece of work in the hands of this process."""

    __slots__ = ("_hands", "_watch", "held", "scope")

    def __init__(self, hands: Hands, held: Held) -> None:
        self.held = held
        self.scope = anyio.CancelScope()
        self._hands = hands
        self._watch = hands.when_lost(held, self.scope)

    def __enter__(self) -> "Grip":
        self._hands.grips[self.held.name] = self
        self._watch.__enter__()
        self.scope.__enter__()
        return self

    def __exit__(self, *error: object) -> bool:
        if self.handed_in:
            self._hands.reports.discard(self)
        else:
            del self._hands.grips[self.held.name]
            self._watch.__exit__()
        return self.scope.__exit__(*error)  # type: ignore[arg-type]

    def hand_in(self) -> None:
        """Nothing takes it away any more, neither a lost claim nor a stop."""
        # Before the report, which ends the claim itself.
        del self._hands.grips[self.held.name]
        self._watch.__exit__()
        self._hands.reports.add(self)
        self.scope.shield = True

    @property
    def handed_in(self) -> bool:
        return self.scope.shield


def hold_claim(claim: Claim) -> Held:
    return Held(_claim_name(claim), claim=claim)


def hold_mail(mail: Message) -> Held:
    return Held(_mail_name(mail), mail=mail)


def _claim_name(claim: Claim) -> str:
    return f"{claim.task_id}.{claim.fence}"


def _mail_name(mail: Message) -> str:
    return f"mail {mail.number}.{mail.fence}"
