"""Mail: taken under a lease by one, handled at least once, dead after too many tries."""

from collections.abc import Callable

import pytest

from core.domain import message
from core.domain.agent import Role
from core.domain.limits import Limits
from core.domain.message import MailStatus, Message, MessageKind
from core.domain.reports import Holder
from core.domain.task import AgentName
from core.errors import MailLost
from tests.support.tasks import changed, make_task

LIMITS = Limits()
HOLDER = Holder("a-process", AgentName("eve"))
MAIL = Message(number=7, kind=MessageKind.CRITIQUE_REQUEST, to_role=Role.ADVISOR)


def taken(mail: Message = MAIL, now: float = 100.0) -> Message:
    return message.take(mail, HOLDER, now, LIMITS)


def test_a_request_for_a_critique_says_which_result_it_is_about() -> None:
    task = make_task(
        "aaaa",
        root="rrrr",
        result_hash="h",
        critique_round=1,
        executor="ada",
        worked_on_by=("ada", "bob"),
    )

    mail = message.critique_request(task, now=5.0)

    assert (mail.task, mail.root, mail.result_hash, mail.cycle) == ("aaaa", "rrrr", "h", 2)
    assert (mail.to_role, mail.to_agent, mail.sender) == (Role.ADVISOR, None, "ada")
    assert mail.not_for == ("ada", "bob")
    assert (mail.status, mail.created) == (MailStatus.QUEUED, 5.0)


def test_review_request_is_understood_as_critique_request() -> None:
    assert MessageKind("review_request") is MessageKind.CRITIQUE_REQUEST
    with pytest.raises(ValueError, match="gossip"):
        MessageKind("gossip")


def test_a_mail_is_taken_under_a_lease_and_a_new_fence() -> None:
    mail = taken()

    assert (mail.status, mail.holder, mail.agent) == (MailStatus.TAKEN, "a-process", "eve")
    assert (mail.fence, mail.lease_until, mail.tries) == (1, 160.0, 1)


@pytest.mark.parametrize("status", [status for status in MailStatus if status != "queued"])
def test_only_a_queued_mail_can_be_taken(status: MailStatus) -> None:
    with pytest.raises(MailLost):
        taken(changed(MAIL, status=status))


def test_a_renewed_lease_lasts_from_now() -> None:
    assert message.renew(taken(), 1, 150.0, LIMITS).lease_until == 210.0


@pytest.mark.parametrize("fence", [0, 2])
def test_nobody_writes_under_another_fence(fence: int) -> None:
    mail = taken()

    with pytest.raises(MailLost):
        message.renew(mail, fence, 150.0, LIMITS)
    with pytest.raises(MailLost):
        message.acknowledge(mail, fence)


def test_a_mail_given_back_is_free_for_the_next_and_lost_for_the_last() -> None:
    mail = message.give_back(taken(), LIMITS, counted=True)

    assert (mail.status, mail.holder, mail.agent, mail.lease_until) == (
        MailStatus.QUEUED,
        None,
        None,
        None,
    )
    assert mail.tries == 1
    with pytest.raises(MailLost):
        message.hold(mail, 1)
    with pytest.raises(MailLost):
        message.hold(taken(mail), 1)


def test_a_stop_is_no_try() -> None:
    mail = MAIL
    for _ in range(20):
        mail = message.give_back(taken(mail), LIMITS, counted=False)

    assert (mail.status, mail.tries) == (MailStatus.QUEUED, 0)


def test_a_mail_is_dead_after_five_tries() -> None:
    mail = MAIL
    for _ in range(4):
        mail = message.give_back(taken(mail), LIMITS, counted=True)
    assert mail.status is MailStatus.QUEUED

    mail = message.give_back(taken(mail), LIMITS, counted=True)

    assert (mail.status, mail.tries) == (MailStatus.DEAD, 5)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda mail: message.acknowledge(mail, mail.fence), MailStatus.ACKNOWLEDGED),
        (message.withdraw, MailStatus.WITHDRAWN),
    ],
    ids=["acknowledge", "withdraw"],
)
def test_a_mail_that_ended_has_no_holder_and_can_not_be_answered(
    end: Callable[[Message], Message], status: MailStatus
) -> None:
    mail = end(taken())

    assert (mail.status, mail.holder, mail.lease_until) == (status, None, None)
    with pytest.raises(MailLost):
        message.acknowledge(mail, 1)


def test_a_queued_mail_can_be_withdrawn() -> None:
    assert message.withdraw(MAIL).status is MailStatus.WITHDRAWN
