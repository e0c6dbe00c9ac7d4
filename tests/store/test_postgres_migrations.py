"""The schema on PostgreSQL: made once, by one or many, whole or not at all, beside the older."""

from pathlib import Path

import pytest
from psycopg import sql

from core.domain.plan import NewTask
from core.errors import StoreBusy, StoreError, StoreInterrupted, StoreTooNew, StoreTooOld
from core.moving import make, migrate
from core.store import migrations, open_store
from core.store import postgres_schema as schema
from core.store.migrations import migrations as known_migrations
from core.task_board import TaskBoard
from tests.support.board import AUTO
from tests.support.cutting_proxy import Cut, CuttingProxy
from tests.support.postgres_boards import behind, board_for, server
from tests.support.together import together

NEXT = "ALTER TABLE tasks ADD COLUMN mood text; CREATE TABLE moods (name text);"


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> int:
    """This process is of a version that has one more migration."""
    scripts = known_migrations(schema.ENGINE)
    number = scripts[-1][0] + 1
    monkeypatch.setattr(schema, "migrations", lambda engine: (*scripts, (number, NEXT)))
    monkeypatch.setattr(schema, "newest", lambda engine: number)
    return number


def tables_of(database: str) -> list[str]:
    with server(18).connect(database) as other:
        found = other.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        return sorted(str(row[0]) for row in found)


def test_the_numbers_of_migrations_have_no_gaps() -> None:
    numbers = [number for number, _ in known_migrations(schema.ENGINE)]

    assert numbers == list(range(1, migrations.newest(schema.ENGINE) + 1))


async def test_many_who_make_a_board_at_once_make_one() -> None:
    name = server(18).new_database()
    url = server(18).url(name)

    async def make_one() -> bool:
        return await make(url)

    made = await together(*[make_one] * 5, limit_seconds=30)

    assert sorted(str(one) for one in made) == ["False"] * 4 + ["True"]
    await (await open_store(url)).close()
    server(18).drop_database(name)


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.DURING])
async def test_a_migration_that_is_cut_off_leaves_all_of_it_or_nothing(cut: Cut) -> None:
    name = server(18).new_database()
    cuts = iter([cut])
    proxy = CuttingProxy(server(18), lambda: next(cuts, None))
    async with proxy.running():
        with pytest.raises(StoreInterrupted):
            await make(proxy.url(name))
    left = tables_of(name)

    await make(server(18).url(name))

    assert left == [] or left == tables_of(name)
    await (await open_store(server(18).url(name))).close()
    server(18).drop_database(name)


async def test_a_migration_beside_an_older_process_breaks_nothing(
    tmp_path: Path, newer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = board_for(tmp_path)
    with pytest.MonkeyPatch.context() as older:
        older.setattr(schema, "newest", lambda engine: newer - 1)
        old = await open_store(url)
        await TaskBoard(old, AUTO).add(NewTask(title="before"))
    with pytest.raises(StoreTooOld):
        await open_store(url)

    assert await migrate(url) == (newer - 1, newer)

    try:
        await TaskBoard(old, AUTO).add(NewTask(title="after"))
        async with old.read() as reader:
            titles = [task.title for task in await reader.all_tasks()]
        await (await open_store(url)).close()
        with pytest.MonkeyPatch.context() as older:
            older.setattr(schema, "newest", lambda engine: newer - 1)
            with pytest.raises(StoreTooNew):
                await open_store(url)
    finally:
        await old.close()
        with behind(tmp_path) as other:
            other.execute("ALTER TABLE tasks DROP COLUMN mood")
            other.execute("DROP TABLE moods")
            other.execute("UPDATE swarm_store SET schema = %s", (newer - 1,))

    assert titles == ["before", "after"]


async def test_a_migration_gives_up_on_a_table_that_is_held_and_leaves_nothing(
    tmp_path: Path, newer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{board_for(tmp_path)}&options=-c%20lock_timeout%3D50"
    with behind(tmp_path) as other, other.transaction():
        other.execute("LOCK TABLE tasks")
        monkeypatch.setattr("core.store.postgres_sessions.SETTINGS", {})

        with pytest.raises(StoreError) as refusal:
            await migrate(url)

        found = other.execute(sql.SQL("SELECT schema FROM swarm_store")).fetchone()
    assert isinstance(refusal.value, StoreInterrupted | StoreBusy)
    assert found == (newer - 1,)
