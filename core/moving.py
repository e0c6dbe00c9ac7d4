"""Moving a project's board to another store, without loss, and looking at what a store is."""

from collections.abc import AsyncIterable

from pydantic import BaseModel, ConfigDict

from core.domain.rules import Rules
from core.errors import StoreError, StoreNotMade
from core.invariants import check
from core.process import surely_dead
from core.store import is_postgres, open_store, sqlite_path
from core.store.protocol import Store
from core.store.shelf import OpenShelf, Row, Shelf, Sum, sums


class CopyRefused(StoreError):
    """Nothing was copied; the sentence says why, and what to do."""


class Copied(BaseModel):
    model_config = ConfigDict(frozen=True)

    source: str
    target: str
    tables: dict[str, int]
    """Their rows, counted on both sides."""
    hashes: dict[str, str]
    """The same on both sides."""


class Standing(BaseModel):
    """What a store is."""

    model_config = ConfigDict(frozen=True)

    store: str
    engine: str
    schema_version: int
    newest: int
    """What this version of Swarm works with."""
    tasks: int = 0
    events: int = 0
    held: int = 0


async def copy(source: str, target: str, rules: Rules) -> Copied:
    """All of a board that rests, to a store that is empty; all of it or nothing."""
    await _must_be_sound(source, rules)
    await make(target)
    shelves = shelf(source), shelf(target)
    async with shelves[0].open(filling=False) as there, shelves[1].open(filling=True) as here:
        await _must_fit(there, here, shelves[1].shown)
        copied = await _fill(there, here)
        _must_agree(copied, await sums(here))
        async with shelves[0].open(filling=False) as now:
            if await sums(now) != copied:
                raise CopyRefused(
                    f"{shelves[0].shown} was written to while it was copied, so nothing was; "
                    "end who works on it and copy again"
                )
        await here.keep()
    await _must_be_sound(target, rules)
    return Copied(
        source=shelves[0].shown,
        target=shelves[1].shown,
        tables={table: one.rows for table, one in copied.items()},
        hashes={table: one.short for table, one in copied.items()},
    )


async def make(url: str) -> bool:
    """Make the board of an empty database or file; False where there is one already."""
    if is_postgres(url):
        from core.store.postgres_upkeep import make_board

        return await make_board(url)
    path = sqlite_path(url)
    there = path.exists() and path.stat().st_size > 0
    await (await open_store(url)).close()
    return not there


async def migrate(url: str) -> tuple[int, int]:
    """Bring a store up to date; its schema before and after."""
    if is_postgres(url):
        from core.store.postgres_upkeep import migrate_board

        return await migrate_board(url)
    from core.store.sqlite_file import version_of

    path = sqlite_path(url)
    if not path.exists():
        raise StoreNotMade(str(path))
    before = version_of(path)
    await (await open_store(url)).close()
    return before, version_of(path)


async def standing(url: str) -> Standing:
    """What a store is, without changing it."""
    if is_postgres(url):
        from core.store.postgres_upkeep import look

        shown, engine, found, known = await look(url)
    else:
        from core.store.sqlite_file import look_at

        shown, engine, found, known = look_at(sqlite_path(url))
    about = Standing(store=shown, engine=engine, schema_version=found, newest=known)
    if found != known:
        return about
    store = await open_store(url)
    try:
        async with store.read() as reader:
            tasks, held = len(await reader.all_tasks()), len(await reader.held())
            counted = {"tasks": tasks, "held": held, "events": await reader.count_events()}
    finally:
        await store.close()
    return about.model_copy(update=counted)


def shelf(url: str) -> Shelf:
    if is_postgres(url):
        from core.store.postgres_shelf import PostgresShelf

        return PostgresShelf(url)
    from core.store.sqlite_shelf import SqliteShelf

    return SqliteShelf(sqlite_path(url))


async def _must_be_sound(url: str, rules: Rules) -> None:
    """It keeps its promises, and nobody is at work on it."""
    if not is_postgres(url) and not sqlite_path(url).exists():
        raise StoreNotMade(str(sqlite_path(url)))
    store = await open_store(url)
    try:
        await _must_rest(store, shelf(url).shown)
        broken = await check(store, rules)
    finally:
        await store.close()
    if broken:
        raise CopyRefused(
            f"the board in {shelf(url).shown} breaks {len(broken)} of its promises, like: "
            f"{broken[0]}; look at it with swarm doctor"
        )


async def _must_rest(store: Store, shown: str) -> None:
    async with store.read() as reader:
        held, now = await reader.held(), reader.now
    for task in held:
        alive = task.lease_until is not None and now < task.lease_until
        if alive and task.holder is not None and not surely_dead(task.holder):
            raise CopyRefused(
                f"somebody is at work on {shown}: {task.agent} holds {task.id}; "
                "end every swarm work on it, then copy"
            )


async def _must_fit(there: OpenShelf, here: OpenShelf, shown: str) -> None:
    ours = {table: set(columns) for table, columns in (await there.tables()).items()}
    theirs = {table: set(columns) for table, columns in (await here.tables()).items()}
    if ours != theirs:
        raise CopyRefused(f"{shown} has other tables than the board that is to be copied")
    if any(one.rows for one in (await sums(here)).values()):
        raise CopyRefused(f"{shown} is not empty; copy to a new database or file")


async def _fill(there: OpenShelf, here: OpenShelf) -> dict[str, Sum]:
    copied: dict[str, Sum] = {}
    for table, columns in (await there.tables()).items():

        async def counted(table: str, rows: AsyncIterable[Row]) -> AsyncIterable[Row]:
            async for row in rows:
                copied[table] = copied[table].with_row(row)
                yield row

        copied[table] = Sum()
        await here.fill(table, columns, counted(table, there.rows(table, columns)))
    return copied


def _must_agree(copied: dict[str, Sum], found: dict[str, Sum]) -> None:
    for table, one in copied.items():
        if found[table].rows != one.rows or found[table].hash != one.hash:
            raise CopyRefused(f"the table {table} came out different, so nothing was copied")
