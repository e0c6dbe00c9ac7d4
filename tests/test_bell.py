"""The bell: every ring since one began to listen is heard, once, by all who listen."""

import tracemalloc

import anyio
import pytest

from core.bell import REMEMBERED_TOPICS, Bell, Ear
from tests.support.together import together

NEVER_SECONDS = 3600


async def rings(ear: Ear, poll_seconds: float = 0) -> bool:
    with anyio.fail_after(1):
        return await ear.wait(poll_seconds)


async def test_a_ring_wakes_who_waits() -> None:
    bell = Bell()
    ear = bell.listen("work")

    async def ring() -> None:
        await anyio.wait_all_tasks_blocked()
        bell.ring(["work"])

    rang, _ = await together(lambda: rings(ear, NEVER_SECONDS), ring)

    assert rang is True


async def test_a_ring_between_listening_and_waiting_is_heard() -> None:
    bell = Bell()
    ear = bell.listen("work")

    bell.ring(["work"])

    assert await rings(ear, NEVER_SECONDS)


async def test_a_ring_before_listening_is_not_heard() -> None:
    bell = Bell()
    bell.ring(["work"])

    ear = bell.listen("work")

    assert not await rings(ear)


async def test_a_ring_between_two_waits_is_heard_by_the_second() -> None:
    bell = Bell()
    ear = bell.listen("work")
    bell.ring(["work"])
    assert await rings(ear, NEVER_SECONDS)

    bell.ring(["work"])

    assert await rings(ear, NEVER_SECONDS)


async def test_rings_that_were_heard_are_not_heard_again() -> None:
    bell = Bell()
    ear = bell.listen("work")
    bell.ring(["work"])
    bell.ring(["work"])

    first, second = await rings(ear), await rings(ear)

    assert (first, second) == (True, False)


async def test_without_a_ring_it_is_time_to_look_anyway() -> None:
    ear = Bell().listen("work")

    assert not await rings(ear, poll_seconds=0.001)


async def test_a_ring_after_a_wait_that_ran_out_is_heard() -> None:
    bell = Bell()
    ear = bell.listen("work")
    assert not await rings(ear, poll_seconds=0.001)

    bell.ring(["work"])

    assert await rings(ear, NEVER_SECONDS)


async def test_one_ring_wakes_all_who_wait_for_it() -> None:
    bell = Bell()
    ears = [bell.listen("work"), bell.listen("work", "mail"), bell.listen("work")]

    async def ring() -> None:
        await anyio.wait_all_tasks_blocked()
        bell.ring(["work"])

    *rang, _ = await together(*(lambda one=ear: rings(one, NEVER_SECONDS) for ear in ears), ring)

    assert rang == [True, True, True]


@pytest.mark.parametrize("topic", ["work", "mail"])
async def test_any_of_its_topics_wakes_a_listener(topic: str) -> None:
    bell = Bell()
    ear = bell.listen("work", "mail")

    async def ring() -> None:
        await anyio.wait_all_tasks_blocked()
        bell.ring([topic])

    rang, _ = await together(lambda: rings(ear, NEVER_SECONDS), ring)

    assert rang is True


async def test_a_ring_for_others_wakes_nobody() -> None:
    bell = Bell()
    ear = bell.listen("work")

    bell.ring(["mail"])

    assert not await rings(ear)


async def test_a_listener_that_is_cancelled_leaves_the_others_waiting() -> None:
    bell = Bell()
    ear = bell.listen("work")
    scope = anyio.CancelScope()

    async def give_up() -> bool:
        with scope:
            await bell.listen("work").wait(NEVER_SECONDS)
        return scope.cancelled_caught

    async def cancel_then_ring() -> None:
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        bell.ring(["work"])

    gave_up, rang, _ = await together(give_up, lambda: rings(ear, NEVER_SECONDS), cancel_then_ring)

    assert (gave_up, rang) == (True, True)


async def test_a_ring_while_another_listener_wakes_is_not_lost() -> None:
    bell = Bell()
    first, second = bell.listen("ping"), bell.listen("pong")

    async def answer() -> None:
        assert await rings(first, NEVER_SECONDS)
        bell.ring(["pong"])

    async def ring() -> None:
        await anyio.wait_all_tasks_blocked()
        bell.ring(["ping"])

    _, rang, _ = await together(answer, lambda: rings(second, NEVER_SECONDS), ring)

    assert rang is True


def test_topics_that_nobody_listens_for_are_forgotten() -> None:
    """Every claim has a topic of its own, and a process may live for months."""
    bell = Bell()
    sizes = []
    tracemalloc.start()

    for first in (0, 20_000):
        for number in range(first, first + 20_000):
            bell.ring([f"lost:{number}"])
        sizes.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.stop()
    assert sizes[1] - sizes[0] < 100_000


async def test_no_ring_is_missed_when_old_topics_are_forgotten() -> None:
    bell = Bell()
    ear = bell.listen("mine")

    bell.ring(["mine", *(f"claim {number}" for number in range(REMEMBERED_TOPICS))])

    assert ear.rang()
    assert not ear.rang()
