"""Boards on throw-away PostgreSQL servers: one server of each version for each test process."""

import atexit
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import anyio
import psycopg
from psycopg import sql

from core.store.postgres import PostgresStore
from core.store.postgres_address import PostgresAddress
from core.store.postgres_schema import bring_up_to_date
from core.store.postgres_sessions import Sessions
from tests.support.postgres_server import PostgresServer

TEMPLATE = "board"
_TABLES = (
    "tasks",
    "dependencies",
    "mail",
    "critiques",
    "feedback",
    "answers",
    "replies",
    "charges",
    "budgets",
    "events",
)
_NUMBERED = ("tasks", "mail", "critiques", "feedback", "replies")
_EMPTY = "; ".join(
    [
        *(f"DELETE FROM {table}" for table in _TABLES),
        *(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), 1, false)"
            for table in _NUMBERED
        ),
    ]
).encode()
EVERYTHING = (
    " UNION ALL ".join(
        f"SELECT md5(string_agg(one::text, '|' ORDER BY one::text)) FROM {table} AS one"
        for table in _TABLES
    )
    .join(("SELECT array_agg(md5) FROM (", ") AS tables"))
    .encode()
)
"""Every row of every table, as one value to compare."""
_boards: dict[tuple[Path, int], str] = {}
_free: dict[int, list[str]] = {}


@cache
def server(version: int) -> PostgresServer:
    """Started when the first test asks for it, and gone with this process."""
    one = PostgresServer(version)
    atexit.register(one.stop)
    one.run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    make_board(one.url(TEMPLATE))
    return one


def board_for(folder: Path, version: int = 18) -> str:
    """The address of the empty board that belongs to a test's folder, made when first asked for."""
    key = folder, version
    if key not in _boards:
        free = _free.setdefault(version, [])
        _boards[key] = free.pop() if free else server(version).new_database(TEMPLATE)
    return server(version).url(_boards[key])


def database_for(folder: Path) -> str:
    """The name of its database on `server(18)`."""
    board_for(folder)
    return _boards[folder, 18]


def behind(folder: Path) -> psycopg.Connection[tuple[object, ...]]:
    """Another program on the board of this folder."""
    return psycopg.connect(board_for(folder), autocommit=True)


def give_back_boards() -> None:
    """Empty every board that was asked for: that is a hundred times cheaper than a new one."""
    for (_, version), name in _boards.items():
        with server(version).connect(name) as connection:
            connection.execute(_EMPTY)
        _free[version].append(name)
    _boards.clear()


def make_board(url: str) -> None:
    async def make() -> None:
        address = PostgresAddress(url)
        sessions = Sessions(address)
        session = await sessions.take()
        try:
            await bring_up_to_date(session, address.shown)
        finally:
            await sessions.give(session)
            await sessions.close()

    # In a thread of its own: a test's event loop may be running here.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, make).result()


@contextmanager
def admin(store: PostgresStore) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Another program on the database of this store."""
    with psycopg.connect(store.address.conninfo({}), autocommit=True) as connection:
        yield connection
