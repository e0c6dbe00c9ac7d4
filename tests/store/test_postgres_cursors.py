"""Events on PostgreSQL: numbers of transactions, and cursors that wait for the oldest of them."""

from pathlib import Path

from core.store.postgres import PostgresStore
from core.store.protocol import Store
from tests.support.clock import VirtualClock
from tests.support.postgres_boards import behind, board_for
from tests.support.samples import a_task, an_event, told


async def tell(store: Store, text: str) -> None:
    async with store.transaction() as tx:
        tx.tell(*an_event(text))


async def test_a_cursor_waits_for_an_older_transaction_and_a_picture_does_not(
    tmp_path: Path,
) -> None:
    store = await PostgresStore.open(board_for(tmp_path), clock=VirtualClock())
    await tell(store, "before")
    before = await told(store)
    with behind(tmp_path) as other, other.transaction():
        other.execute("SELECT pg_current_xact_id()")
        await tell(store, "while it runs")

        hidden = await told(store)
        async with store.read() as reader:
            whole = [event.seq for event in await reader.events(0, 10, whole=True)]
            last = await reader.last_event()
    after = await told(store)

    assert hidden == before == [last]
    assert after == whole
    assert len(after) == 2
    await store.close()


async def test_numbers_rise_on_a_server_whose_transactions_count_lower(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path), clock=VirtualClock())
    await tell(store, "here")
    await store.close()
    with behind(tmp_path) as other:
        # As a dump of a busy server that is restored on a young one.
        other.execute("UPDATE events SET seq = seq + (1::bigint << 50)")

    store = await PostgresStore.open(board_for(tmp_path), clock=VirtualClock())
    try:
        restored = await told(store)
        await tell(store, "restored")
        numbers = await told(store)
    finally:
        await store.close()
        with behind(tmp_path) as other:
            other.execute("UPDATE swarm_store SET shift = 0")

    assert len(restored) == 1
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 2


async def test_what_waits_long_for_its_commit_is_seen_by_no_cursor_that_passed_it(
    tmp_path: Path,
) -> None:
    one = await PostgresStore.open(board_for(tmp_path), clock=VirtualClock())
    two = await PostgresStore.open(board_for(tmp_path), clock=VirtualClock())
    seen: list[int] = []
    async with one.transaction() as slow:
        slow.add_task(a_task("slow"))
        slow.tell(*an_event("slow"))
        await slow.all_tasks()  # a list is preceded by what was written: now it has its number
        for number in range(3):
            await tell(two, f"quick {number}")
            async with two.read() as reader:
                seen += [e.seq for e in await reader.events(seen[-1] if seen else 0, 100)]
    async with two.read() as reader:
        seen += [event.seq for event in await reader.events(seen[-1] if seen else 0, 100)]

    assert seen == await told(two)
    assert len(seen) == 4
    await one.close()
    await two.close()
