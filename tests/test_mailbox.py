"""Mail between agents: taken under a lease, handled at least once, dead after too many tries."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from core.domain.agent import Agent, Role
from core.domain.message import MailStatus, Message, MessageKind, read_message
from core.domain.task import AgentName, Task
from core.errors import MailLost, MailNotFound
from core.mailbox import Mailbox
from core.store.sqlite import SqliteStore
from tests.support import children
from tests.support.board import ADA, BOB, EVE, House, agent, open_house, some
from tests.support.samples import a_note
from tests.support.together import together

LEASE_SECONDS = 60
TRIES = 5
ZOE = agent("zoe", Role.ADVISOR)


def to(who: Agent, body: str = "hello") -> Message:
    return Message(kind=MessageKind.NOTE, to_agent=who.name, sender=ADA.name, body=body)


async def test_a_mail_is_taken_under_a_lease(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        sent = await house.mailbox.send(to(BOB))

        taken = some(await house.mailbox.receive(BOB))

        assert (sent.status, sent.created, sent.tries) == (
            MailStatus.QUEUED,
            house.clock.now(),
            0,
        )
        assert (taken.number, taken.body, taken.sender) == (sent.number, "hello", "ada")
        assert (taken.status, taken.agent, taken.tries) == (MailStatus.TAKEN, "bob", 1)
        assert taken.lease_until == house.clock.now() + LEASE_SECONDS
        assert taken.fence > sent.fence
        assert await house.told() == ["mail_sent", "mail_taken"]


async def test_a_second_receiver_gets_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(a_note())
        await house.mail(EVE)

        assert await house.mailbox.receive(ZOE) is None
        assert await house.mailbox.receive(EVE) is None


async def test_receivers_that_ask_at_once_share_the_mail_out(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        sent = [(await house.mailbox.send(a_note())).number for _ in range(3)]

        taken = await together(*[lambda: house.mailbox.receive(EVE)] * 5)

        numbers = [mail.number for mail in taken if isinstance(mail, Message)]
        assert numbers == sent
        assert taken.count(None) == 2


async def test_an_agent_gets_its_own_mail_and_that_of_its_role(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for mail in (to(EVE, "own"), a_note("role"), to(BOB, "another's")):
            await house.mailbox.send(mail)

        bodies = [(await house.mail(EVE)).body for _ in range(2)]

        assert bodies == ["own", "role"]
        assert await house.mailbox.receive(EVE) is None


async def test_a_mail_is_not_given_to_whom_it_is_not_for(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(a_note(not_for=(EVE.name,)))

        assert await house.mailbox.receive(EVE) is None
        assert some(await house.mailbox.receive(ZOE)).agent == "zoe"


async def test_an_acknowledged_mail_is_done_with(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))

        done = await house.mailbox.acknowledge(await house.mail(BOB))

        house.clock.jump(10 * LEASE_SECONDS)
        assert (done.status, done.holder, done.lease_until) == (
            MailStatus.ACKNOWLEDGED,
            None,
            None,
        )
        assert await house.mailbox.recover() == []
        assert await house.mailbox.receive(BOB) is None
        assert await house.told() == ["mail_sent", "mail_taken", "mail_acknowledged"]


async def test_a_mail_given_back_has_one_try_less_left(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))

        back = await house.mailbox.give_back(await house.mail(BOB))

        again = await house.mail(BOB)
        assert (back.status, back.tries, back.agent) == (MailStatus.QUEUED, 1, None)
        assert (again.tries, again.fence > back.fence) == (2, True)


async def test_a_mail_given_back_because_of_a_stop_loses_no_try(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))

        for _ in range(2 * TRIES):
            back = await house.mailbox.give_back(await house.mail(BOB), counted=False)
            assert (back.status, back.tries) == (MailStatus.QUEUED, 0)

        assert (await house.mail(BOB)).tries == 1


async def test_a_mail_is_dead_and_listed_after_its_last_try(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB, "hopeless"))
        for _ in range(TRIES - 1):
            await house.mailbox.give_back(await house.mail(BOB))
        none_yet = await house.mailbox.dead_letters()

        dead = await house.mailbox.give_back(await house.mail(BOB))

        assert none_yet == []
        assert (dead.status, dead.tries, dead.holder) == (MailStatus.DEAD, TRIES, None)
        assert await house.mailbox.dead_letters() == [dead]
        assert await house.mailbox.receive(BOB) is None
        assert (await house.told())[-1] == "mail_died"


async def test_a_mail_whose_holder_goes_silent_is_taken_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))
        taken = await house.mail(BOB)

        house.clock.jump(LEASE_SECONDS - 1)
        too_early = await house.mailbox.recover()
        house.clock.jump(1)
        in_time = await house.mailbox.recover()

        assert too_early == []
        assert [(mail.number, mail.status, mail.tries) for mail in in_time] == [
            (taken.number, MailStatus.QUEUED, 1)
        ]
        assert (await house.mail(BOB)).tries == 2


async def test_silence_kills_a_mail_in_the_end(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))

        for _ in range(TRIES):
            await house.mail(BOB)
            house.clock.jump(LEASE_SECONDS)
            (last,) = await house.mailbox.recover()

        assert await house.mailbox.dead_letters() == [last]


async def test_a_heartbeat_keeps_a_mail(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))
        taken = await house.mail(BOB)
        house.clock.jump(LEASE_SECONDS - 1)

        renewed = await house.mailbox.heartbeat(taken)

        house.clock.jump(LEASE_SECONDS - 1)
        assert renewed.fence == taken.fence
        assert await house.mailbox.recover() == []
        assert (await house.mailbox.acknowledge(taken)).status is MailStatus.ACKNOWLEDGED


async def test_a_mail_is_taken_back_once_however_many_look(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))
        await house.mail(BOB)
        house.clock.jump(LEASE_SECONDS)

        taken_back = await together(*[house.mailbox.recover] * 3)

        found = [mail for mails in taken_back if isinstance(mails, list) for mail in mails]
        assert [mail.tries for mail in found] == [1]


async def test_a_mail_renewed_in_the_last_moment_is_not_taken_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for _ in range(2):
            await house.mailbox.send(to(BOB))
        first, second = await house.mail(BOB), await house.mail(BOB)
        house.clock.jump(LEASE_SECONDS)

        taken_back, renewed = await together(
            house.mailbox.recover, lambda: house.mailbox.heartbeat(second)
        )

        assert isinstance(taken_back, list)
        assert [mail.number for mail in taken_back] == [first.number]
        assert isinstance(renewed, Message)
        assert (await house.mailbox.acknowledge(second)).number == second.number


async def test_the_mail_of_a_dead_process_is_taken_back_before_its_lease_ends(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        child = children.start("name_yourself")
        name = children.hear(child)
        await house.mailbox.send(to(BOB))
        taken = some(await Mailbox(house.store, process=name).receive(BOB))

        while_it_lives = await house.mailbox.recover()
        children.release(child)
        when_it_is_gone = await house.mailbox.recover()

        assert while_it_lives == []
        assert [mail.number for mail in when_it_is_gone] == [taken.number]


@pytest.mark.parametrize("act", ["heartbeat", "acknowledge", "give_back"])
async def test_whoever_lost_a_mail_can_not_write_under_its_old_lease(
    tmp_path: Path, act: str
) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(to(BOB))
        old = await house.mail(BOB)
        house.clock.jump(LEASE_SECONDS)
        await house.mailbox.recover()
        write: Callable[[Message], Awaitable[Message]] = getattr(house.mailbox, act)

        with pytest.raises(MailLost):
            await write(old)
        new = await house.mail(BOB)
        with pytest.raises(MailLost):
            await write(old)

        assert (await write(new)).number == old.number


async def test_a_mail_that_was_never_sent_is_not_found(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(MailNotFound):
            await house.mailbox.acknowledge(to(BOB))


async def test_a_review_request_is_understood_as_a_critique_request(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        said = read_message({"kind": "review_request", "to_role": "advisor"})
        sent = await house.mailbox.send(said)
        with closing(sqlite3.connect(tmp_path / "swarm.db", isolation_level=None)) as other:
            other.execute("UPDATE mail SET kind = 'review_request'")

        taken = await house.mail(EVE)

        assert sent.kind is taken.kind is MessageKind.CRITIQUE_REQUEST
        assert taken.number == sent.number


@pytest.mark.parametrize("mail", [to(EVE), a_note()], ids=["to it", "to its role"])
async def test_an_agent_that_waits_is_woken_by_a_mail(tmp_path: Path, mail: Message) -> None:
    async with open_house(tmp_path) as house:
        got: list[Message | None] = []

        async def wait_for_mail() -> None:
            ear = house.mailbox.listen(EVE)
            assert await house.mailbox.receive(EVE) is None
            assert await ear.wait(poll_seconds=3600)
            got.append(await house.mailbox.receive(EVE))

        with anyio.fail_after(1):
            async with anyio.create_task_group() as group:
                group.start_soon(wait_for_mail, name="eve")
                await anyio.wait_all_tasks_blocked()
                sent = await house.mailbox.send(mail)

        assert some(got[0]).number == sent.number


async def test_a_mail_sent_between_looking_and_waiting_is_heard(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        ear = house.mailbox.listen(EVE)
        assert await house.mailbox.receive(EVE) is None
        await house.mailbox.send(a_note())

        with anyio.fail_after(1):
            rang = await ear.wait(poll_seconds=3600)

        assert rang


async def test_a_mail_that_comes_back_wakes_who_may_take_it(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(a_note())
        taken = await house.mail(EVE)
        ear = house.mailbox.listen(ZOE)

        await house.mailbox.give_back(taken)

        with anyio.fail_after(1):
            assert await ear.wait(poll_seconds=3600)
        assert some(await house.mailbox.receive(ZOE)).number == taken.number


async def test_nobody_is_woken_by_the_mail_of_others(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        ear = house.mailbox.listen(agent("ed", Role.EXECUTOR))

        await house.mailbox.send(a_note())
        await house.mailbox.send(to(BOB))

        assert not await ear.wait(poll_seconds=0)


async def test_a_mail_from_another_process_is_found_by_looking_now_and_then(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        elsewhere = await SqliteStore.open(tmp_path / "swarm.db", clock=house.clock)
        try:
            ear = house.mailbox.listen(EVE)
            assert await house.mailbox.receive(EVE) is None

            sent = await Mailbox(elsewhere).send(a_note())
            with anyio.fail_after(1):
                rang = await ear.wait(poll_seconds=0.001)
            found = await house.mailbox.receive(EVE)

            assert not rang
            assert some(found).number == sent.number
        finally:
            await elsewhere.close()


async def test_names_that_begin_alike_are_different_people(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.mailbox.send(a_note(not_for=(AgentName("eve2"),)))
        await house.mailbox.send(to(agent("eve2"), "to the other"))

        assert (await house.mail(EVE)).body == "hello"
        assert await house.mailbox.receive(EVE) is None


async def submitted(house: House) -> Task:
    """A task that waits for advice on what ada did."""
    await house.add()
    return await house.submit()


async def test_one_look_gives_each_of_several_the_next_mail_and_the_task_it_is_about(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        tasks = [await submitted(house) for _ in range(2)]
        ann = agent("ann", Role.ADVISOR)

        letters = await house.mailbox.receive_for([EVE, ZOE, ann], {ann.name})

        assert [letter.mail.agent for letter in letters] == ["eve", "zoe"]
        assert [some(letter.task).id for letter in letters] == [task.id for task in tasks]
        assert [some(letter.task).result for letter in letters] == ["done", "done"]


async def test_who_has_mail_of_their_own_is_called(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        assert await house.mailbox.called([EVE, ZOE]) == set()
        await house.mailbox.send(to(ZOE))
        assert await house.mailbox.called([EVE, ZOE]) == {"zoe"}


async def test_all_are_called_where_some_may_not_take_a_mail(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await submitted(house)
        ada_advises = agent(ADA.name, Role.ADVISOR)

        assert await house.mailbox.called([ada_advises, ZOE]) == {"ada", "zoe"}
        assert await house.mailbox.called([EVE, ZOE]) == set()
