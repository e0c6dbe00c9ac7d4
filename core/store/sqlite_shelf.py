"""An SQLite file as bare tables."""

import sqlite3
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from core.store.shelf import Row, Tables
from core.store.sqlite_file import LOCK_SECONDS, begin, connect, translated

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


class SqliteShelf:
    def __init__(self, path: Path) -> None:
        self.shown = str(path)
        self._path = path

    @asynccontextmanager
    async def open(self, *, filling: bool) -> AsyncIterator["OpenSqliteShelf"]:
        connection = connect(self._path, LOCK_SECONDS)
        try:
            if filling:
                await begin(connection, self._path, LOCK_SECONDS)
            else:
                connection.execute("BEGIN")
            yield OpenSqliteShelf(connection)
        except sqlite3.Error as error:
            raise translated(error, self._path) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.close()


class OpenSqliteShelf:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def tables(self) -> Tables:
        names = sorted(row[0] for row in self._connection.execute(_TABLES))
        return {
            name: tuple(row[1] for row in self._connection.execute(f"PRAGMA table_info({name})"))
            for name in names
        }

    async def rows(self, table: str, columns: Sequence[str]) -> AsyncIterator[Row]:
        for row in self._connection.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            yield row

    async def fill(self, table: str, columns: Sequence[str], rows: AsyncIterable[Row]) -> None:
        places = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
        async for row in rows:
            self._connection.execute(insert, row)

    async def keep(self) -> None:
        self._connection.execute("COMMIT")
