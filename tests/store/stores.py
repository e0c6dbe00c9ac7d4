"""The stores that keep the contract; a new one is one more entry in STORES."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path

from core.clock import Clock
from core.store.postgres import PostgresStore
from core.store.protocol import Store
from core.store.sqlite import SqliteStore
from core.store.sqlite_file import Synchronous
from tests.support.postgres_boards import admin, board_for


@dataclass(frozen=True)
class Backend:
    """How to open one kind of store; opened twice in one folder, it is two writers of one board."""

    open: Callable[[Path, Clock], AbstractAsyncContextManager[Store]]
    failing_commits: Callable[[Store], AbstractContextManager[None]]
    """While it lasts, the commit itself fails for every step of this store that writes."""
    numbers_without_gaps: bool
    """A step that fails costs no event number."""


@asynccontextmanager
async def open_sqlite(folder: Path, clock: Clock) -> AsyncIterator[Store]:
    # What NORMAL leaves out only matters to a power cut, and costs a test most of its time.
    store = await SqliteStore.open(folder / "swarm.db", clock=clock, synchronous=Synchronous.NORMAL)
    try:
        yield store
    finally:
        await store.close()


def writer_of(store: Store) -> sqlite3.Connection:
    assert isinstance(store, SqliteStore), "only SQLite has one connection to write with"
    return store.writer


_TABLES = ("tasks", "mail", "events", "critiques", "feedback", "answers")


@contextmanager
def failing_sqlite_commits(store: Store) -> Iterator[None]:
    """Every write breaks a promise that SQLite checks when it commits."""
    writer = writer_of(store)
    writer.execute("PRAGMA foreign_keys = ON")
    writer.execute("CREATE TEMP TABLE promised (id INTEGER PRIMARY KEY)")
    writer.execute(
        "CREATE TEMP TABLE broken (id REFERENCES promised DEFERRABLE INITIALLY DEFERRED)"
    )
    for table in _TABLES:
        for act in ("INSERT", "UPDATE"):
            writer.execute(
                f"CREATE TEMP TRIGGER break_{act}_{table} AFTER {act} ON main.{table} "
                "BEGIN INSERT INTO broken VALUES (1); END"
            )
    try:
        yield
    finally:
        for table in _TABLES:
            for act in ("INSERT", "UPDATE"):
                writer.execute(f"DROP TRIGGER break_{act}_{table}")
        writer.execute("DROP TABLE broken")
        writer.execute("DROP TABLE promised")


def postgres(version: int) -> Backend:
    """The store on a throw-away server; a folder stands for a database of its own."""

    @asynccontextmanager
    async def open_postgres(folder: Path, clock: Clock) -> AsyncIterator[Store]:
        store = await PostgresStore.open(board_for(folder, version), clock=clock)
        try:
            yield store
        finally:
            await store.close()

    return Backend(
        open=open_postgres, failing_commits=failing_postgres_commits, numbers_without_gaps=False
    )


@contextmanager
def failing_postgres_commits(store: Store) -> Iterator[None]:
    """Every write breaks a promise that PostgreSQL checks when it commits."""
    assert isinstance(store, PostgresStore), "a store on PostgreSQL"
    with admin(store) as connection:
        connection.execute(
            "CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN RAISE EXCEPTION ''broken''; END'"
        )
        for table in _TABLES:
            connection.execute(
                f"CREATE CONSTRAINT TRIGGER break_{table} AFTER INSERT OR UPDATE ON {table} "
                "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION break()"
            )
    try:
        yield
    finally:
        with admin(store) as connection:
            connection.execute("DROP FUNCTION break() CASCADE")


STORES = {
    "sqlite": Backend(
        open=open_sqlite, failing_commits=failing_sqlite_commits, numbers_without_gaps=True
    ),
    "postgres-16": postgres(16),
    "postgres-18": postgres(18),
}
