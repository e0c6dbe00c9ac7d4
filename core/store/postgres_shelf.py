"""A PostgreSQL database as bare tables."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import psycopg

from core.store.postgres_address import PostgresAddress
from core.store.postgres_line import Line
from core.store.postgres_schema import AHEAD
from core.store.postgres_sessions import Sessions
from core.store.postgres_words import Statement, kept, read, translated
from core.store.shelf import Row, Tables

_COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema() AND table_name <> 'swarm_store' "
    "ORDER BY table_name, ordinal_position"
)
_NEXT_NUMBER = (
    "SELECT setval(pg_get_serial_sequence('{table}', 'number'), coalesce(max(number), 0) + 1, "
    "false) FROM {table}"
)
_PATIENT = ("statement_timeout", "idle_in_transaction_session_timeout")
"""A large board takes longer than any step."""


class PostgresShelf:
    def __init__(self, url: str) -> None:
        self._address = PostgresAddress(url)
        self.shown = self._address.shown

    @asynccontextmanager
    async def open(self, *, filling: bool) -> AsyncIterator["OpenPostgresShelf"]:
        sessions = Sessions(self._address)
        line = await sessions.connect_patiently()
        how = "BEGIN" if filling else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        try:
            patience = [Statement(f"SET LOCAL {name} = 0") for name in _PATIENT]
            await line.ask([Statement(how), *patience])
            yield OpenPostgresShelf(line)
        except psycopg.Error as error:
            raise translated(error, self.shown) from error
        finally:
            await line.close()


class OpenPostgresShelf:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def tables(self) -> Tables:
        (found,) = await self._line.ask([Statement(_COLUMNS)])
        tables: Tables = {}
        for table, column in found.rows:
            tables[table] = (*tables.get(table, ()), column)
        return tables

    async def rows(self, table: str, columns: Sequence[str]) -> AsyncIterator[Row]:
        async with self._line.connection.cursor(name="rows") as cursor:
            await cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")
            async for row in cursor:
                yield read(row)

    async def fill(self, table: str, columns: Sequence[str], rows: AsyncIterable[Row]) -> None:
        async with (
            self._line.connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
        ):
            async for row in rows:
                await copy.write_row(kept(row))
        if "number" in columns:
            await self._line.ask([Statement(_NEXT_NUMBER.format(table=table))])

    async def keep(self) -> None:
        await self._line.ask([Statement(AHEAD), Statement("COMMIT")])
