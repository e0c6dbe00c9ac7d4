"""What any store promises about order: lists, the next task to claim, the next mail."""

from pathlib import Path

import pytest

from core.domain.agent import Role
from core.domain.message import MailStatus
from core.domain.task import AgentName, Hint, Kind, Phase, Reason, TaskId, TaskStatus
from core.store.protocol import Store, Wanted
from tests.store.stores import Backend
from tests.support.clock import VirtualClock
from tests.support.samples import (
    ADA,
    BOB,
    EVE,
    a_child,
    a_note,
    a_task,
    change,
    evolved,
    put,
    put_on,
)

PAUSED = {"status": TaskStatus.BLOCKED, "reason": Reason.BUDGET}
ADVISORS = frozenset({Role.ADVISOR})


async def claimed_in_turn(store: Store, wanted: Wanted) -> list[str]:
    """The ids of what can be claimed, as it would be handed out."""
    ids: list[str] = []
    async with store.transaction() as tx:
        while (task := await tx.next_claimable(wanted)) is not None:
            ids.append(task.id)
            put(tx, task, claimable=None)
    return ids


async def received_in_turn(store: Store, agent: AgentName, roles: frozenset[Role]) -> list[str]:
    """The bodies of the mail for somebody, as it would be handed out."""
    bodies = []
    async with store.transaction() as tx:
        while (mail := await tx.next_message(agent, roles)) is not None:
            bodies.append(mail.body)
            tx.put_message(evolved(mail, status=MailStatus.ACKNOWLEDGED))
    return bodies


async def test_children_and_families_come_in_plan_order(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("top", kind=Kind.REQUEST), a_task("elsewhere"))
        await put_on(store, a_child("b", "top", "00002."), a_child("m", "top", "00001."))
        await put_on(store, a_child("c", "top", "00003."), a_child("twin", "top", "00002."))
        deep = a_child("deep", "m", "00001.00009.", root="top")
        await put_on(store, deep)

        async with store.read() as reader:
            children = [task.id for task in await reader.children(TaskId("top"))]
            family = [task.id for task in await reader.family(TaskId("top"))]
            below = await reader.count_family(TaskId("top"))

        assert children == ["m", "b", "twin", "c"]
        assert family == ["top", "m", "deep", "b", "twin", "c"]
        assert below == 5


async def test_all_tasks_come_in_the_order_they_were_added(
    backend: Backend, tmp_path: Path
) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as one, backend.open(tmp_path, clock) as two:
        for store, task_id in ((one, "z"), (two, "a"), (one, "m")):
            await put_on(store, a_task(task_id))

        async with one.read() as reader:
            assert [task.id for task in await reader.all_tasks()] == ["z", "a", "m"]


async def test_a_child_is_open_until_it_is_settled_and_an_idea_never_is(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        top = TaskId("top")
        await put_on(store, a_task("top"), a_child("idea", "top", kind=Kind.IDEA))
        async with store.read() as reader:
            with_an_idea = await reader.has_open_child(top)
        await put_on(store, a_child("done", "top", status=TaskStatus.COMPLETED))
        async with store.read() as reader:
            with_a_done_one = await reader.has_open_child(top)
        await put_on(store, a_child("c", "top"))
        async with store.read() as reader:
            with_a_child = await reader.has_open_child(top)
        await change(store, "c", status=TaskStatus.BLOCKED, reason=Reason.DEPENDENCY)
        async with store.read() as reader:
            with_a_settled_one = await reader.has_open_child(top)
        await change(store, "c", reason=Reason.NEEDS_HUMAN)
        async with store.read() as reader:
            with_an_open_one = await reader.has_open_child(top)

        assert (with_an_idea, with_a_done_one, with_a_child) == (False, False, True)
        assert (with_a_settled_one, with_an_open_one) == (False, True)


async def test_a_step_that_fails_leaves_the_last_open_child_open(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("top", kind=Kind.REQUEST), a_child("last", "top", "00001."))
        async with store.transaction() as tx:
            assert await tx.has_open_child(TaskId("top"))

        async def settle_and_fail() -> None:
            async with store.transaction() as tx:
                put(tx, await tx.task(TaskId("last")), status=TaskStatus.COMPLETED)
                assert not await tx.has_open_child(TaskId("top"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await settle_and_fail()

        async with store.transaction() as tx:
            assert await tx.has_open_child(TaskId("top"))
            put(tx, await tx.task(TaskId("last")), status=TaskStatus.COMPLETED)
        async with store.transaction() as tx:
            assert not await tx.has_open_child(TaskId("top"))


async def test_what_a_failed_step_took_is_the_next_to_be_taken(
    backend: Backend, tmp_path: Path
) -> None:
    work = Wanted(phase=Phase.WORK)
    async with backend.open(tmp_path, VirtualClock()) as store:
        for name in ("first", "second"):
            await put_on(store, a_task(name, claimable=Phase.WORK))
            async with store.transaction() as tx:
                await tx.send(a_note(name))

        async def take_all_and_fail() -> None:
            async with store.transaction() as tx:
                while (task := await tx.next_claimable(work)) is not None:
                    put(tx, task, claimable=None)
                while (mail := await tx.next_message(EVE, ADVISORS)) is not None:
                    tx.put_message(evolved(mail, status=MailStatus.ACKNOWLEDGED))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await take_all_and_fail()

        async with store.transaction() as tx:
            claimed = await tx.next_claimable(work)
            mail = await tx.next_message(EVE, ADVISORS)

        assert claimed is not None
        assert mail is not None
        assert (claimed.id, mail.body) == ("first", "first")


async def test_what_a_step_frees_it_can_take_itself(backend: Backend, tmp_path: Path) -> None:
    work = Wanted(phase=Phase.WORK)
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("later", claimable=Phase.WORK), a_task("held"))
        async with store.transaction() as tx:
            assert await tx.next_claimable(work) is not None
            put(tx, await tx.task(TaskId("later")), claimable=None)
            put(tx, await tx.task(TaskId("held")), claimable=Phase.WORK)

            freed = await tx.next_claimable(work)

        assert freed is not None
        assert freed.id == "held"


async def test_dependents_are_found_by_what_they_name(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("one"), a_task("two"))
        await put_on(store, a_task("both", depends_on=("one", "two", "one")))
        await put_on(store, a_task("half", depends_on=("two",)))

        async with store.read() as reader:
            assert await reader.dependents(TaskId("one")) == ["both"]
            assert sorted(await reader.dependents(TaskId("two"))) == ["both", "half"]
            assert await reader.dependents(TaskId("half")) == []


async def test_ids_are_found_by_their_beginning_and_nothing_else(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, *(a_task(name) for name in ("abc", "abd", "ab", "xab", "a%d", "A_")))

        async with store.read() as reader:
            assert await reader.ids_like("ab", 10) == ["ab", "abc", "abd"]
            assert await reader.ids_like("ab", 2) == ["ab", "abc"]
            assert await reader.ids_like("a%", 10) == ["a%d"]
            assert await reader.ids_like("a_", 10) == []
            assert await reader.ids_like("none", 10) == []


async def test_held_tasks_come_by_the_end_of_their_lease(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("free"))
        await put_on(store, a_task("late", lease_until=9.0), a_task("soon", lease_until=3.0))

        async with store.read() as reader:
            assert [task.id for task in await reader.held()] == ["soon", "late"]


async def test_what_is_to_be_fixed_rests_while_its_request_is_paused(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("paused", claimable=None, **PAUSED))
        await put_on(store, a_child("rests", "paused", claimable=Phase.FIX))
        await put_on(store, a_task("fix", claimable=Phase.FIX), a_task("work"))

        async with store.read() as reader:
            assert [task.id for task in await reader.to_be_fixed()] == ["fix"]


async def test_tasks_are_claimed_by_hint_then_age_of_the_root_then_rank_then_arrival(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("later", hint=Hint.LATER, root_created=1.0, rank="0"))
        await put_on(store, a_task("young", root_created=3.0, rank="0"))
        await put_on(store, a_task("second", root_created=2.0, rank="00002."))
        await put_on(store, a_task("first", root_created=2.0, rank="00001."))
        await put_on(store, a_task("first twin", root_created=2.0, rank="00001."))
        await put_on(store, a_task("next", hint=Hint.NEXT, root_created=9.0, rank="9"))

        handed_out = await claimed_in_turn(store, Wanted(Phase.WORK))

        assert handed_out == ["next", "first", "first twin", "second", "young", "later"]


async def test_only_what_is_ready_for_the_phase_is_claimed(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        for phase in Phase:
            await put_on(store, a_task(phase.value, claimable=phase))
        await put_on(store, a_task("nothing", claimable=None))

        handed_out = {phase.value: await claimed_in_turn(store, Wanted(phase)) for phase in Phase}

        assert handed_out == {phase.value: [phase.value] for phase in Phase}


async def test_only_work_of_the_wanted_roots_is_claimed(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("a"), a_task("b"), a_task("c"), a_child("a1", "a"))

        none = await claimed_in_turn(store, Wanted(Phase.WORK, roots=frozenset()))
        some = await claimed_in_turn(
            store, Wanted(Phase.WORK, roots=frozenset({TaskId("c"), TaskId("a")}))
        )
        rest = await claimed_in_turn(store, Wanted(Phase.WORK))

        assert (none, sorted(some), rest) == ([], ["a", "a1", "c"], ["b"])


async def test_a_fix_is_for_its_executor_until_it_waited_long_enough(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        fix = {"claimable": Phase.FIX, "executor": BOB}
        await put_on(store, a_task("fresh", **fix, waited_idle_seconds=59.5))
        await put_on(store, a_task("old", **fix, waited_idle_seconds=60.0))

        ada = await claimed_in_turn(store, Wanted(Phase.FIX, own=ADA, waited_seconds=60))
        bob = await claimed_in_turn(store, Wanted(Phase.FIX, own=BOB, waited_seconds=60))

        assert (ada, bob) == (["old"], ["fresh"])


async def test_nothing_of_a_paused_request_is_claimed(backend: Backend, tmp_path: Path) -> None:
    clock = VirtualClock()
    async with backend.open(tmp_path, clock) as store, backend.open(tmp_path, clock) as other:
        await put_on(store, a_task("top", claimable=None), a_child("c", "top"))

        await change(other, "top", **PAUSED)
        paused = await claimed_in_turn(store, Wanted(Phase.WORK))
        await change(other, "top", status=TaskStatus.WAITING, reason=None)
        resumed = await claimed_in_turn(store, Wanted(Phase.WORK))

        assert (paused, resumed) == ([], ["c"])


async def test_the_oldest_mail_for_an_agent_or_its_roles_comes_first(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            await tx.send(a_note("1 for advisors"))
            await tx.send(a_note("2 for eve", to_role=None, to_agent=EVE))
            await tx.send(a_note("3 for planners", to_role=Role.PLANNER))
            await tx.send(a_note("4 for ada", to_role=None, to_agent=ADA))
            await tx.send(a_note("5 for advisors"))
            await tx.send(a_note("6 for executors", to_role=Role.EXECUTOR))

        bob = await received_in_turn(store, BOB, frozenset())
        ada = await received_in_turn(store, ADA, frozenset())
        eve = await received_in_turn(store, EVE, frozenset({Role.ADVISOR, Role.PLANNER}))

        assert (bob, ada) == ([], ["4 for ada"])
        assert eve == ["1 for advisors", "2 for eve", "3 for planners", "5 for advisors"]


async def test_mail_is_not_given_to_whom_it_is_not_for(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            await tx.send(a_note("not for ada", not_for=("ada", "bob")))
            await tx.send(a_note("not for ad", not_for=("ad",)))
            await tx.send(a_note("for all"))

        ada = await received_in_turn(store, ADA, ADVISORS)
        eve = await received_in_turn(store, EVE, ADVISORS)

        assert (ada, eve) == (["not for ad", "for all"], ["not for ada"])


async def test_mail_of_a_paused_request_rests(backend: Backend, tmp_path: Path) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        await put_on(store, a_task("top", claimable=None, **PAUSED), a_task("free"))
        async with store.transaction() as tx:
            await tx.send(a_note("paused", root="top"))
            await tx.send(a_note("free", root="free"))
            await tx.send(a_note("of no request"))

        paused = await received_in_turn(store, EVE, ADVISORS)
        await change(store, "top", status=TaskStatus.WAITING, reason=None)
        resumed = await received_in_turn(store, EVE, ADVISORS)

        assert (paused, resumed) == (["free", "of no request"], ["paused"])


@pytest.mark.parametrize("status", [one for one in MailStatus if one is not MailStatus.QUEUED])
async def test_only_queued_mail_is_given_out(
    backend: Backend, tmp_path: Path, status: MailStatus
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            await tx.send(a_note(status=status))

        assert await received_in_turn(store, EVE, ADVISORS) == []


async def test_mail_is_listed_by_status_in_the_order_it_was_sent(
    backend: Backend, tmp_path: Path
) -> None:
    async with backend.open(tmp_path, VirtualClock()) as store:
        async with store.transaction() as tx:
            for body, status in (("a", "dead"), ("b", "queued"), ("c", "taken"), ("d", "dead")):
                await tx.send(a_note(body, status=status))

        async with store.read() as reader:
            all_of_it = [mail.body for mail in await reader.messages()]
            some = await reader.messages(MailStatus.QUEUED, MailStatus.DEAD)

        assert all_of_it == ["a", "b", "c", "d"]
        assert [mail.body for mail in some] == ["a", "b", "d"]
