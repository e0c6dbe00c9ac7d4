"""Making a board on PostgreSQL, bringing it up to date, and looking at it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from core.errors import StoreNotMade, StoreTooOld
from core.store.migrations import newest
from core.store.postgres_address import PostgresAddress
from core.store.postgres_schema import ENGINE, bring_up_to_date, schema_of
from core.store.postgres_sessions import Session, Sessions
from core.store.postgres_words import Statement, translated


async def make_board(url: str) -> bool:
    """True when it was made now."""
    async with _session(url) as (session, shown):
        before = await schema_of(session, shown)
        if 0 < before < newest(ENGINE):
            raise StoreTooOld(shown, before, newest(ENGINE))
        await session.end()
        before, _ = await bring_up_to_date(session, shown)
        return before == 0


async def migrate_board(url: str) -> tuple[int, int]:
    async with _session(url) as (session, shown):
        if await schema_of(session, shown) == 0:
            raise StoreNotMade(shown)
        await session.end()
        return await bring_up_to_date(session, shown)


async def look(url: str) -> tuple[str, str, int, int]:
    """The address without its secrets, the server, the schema there and the one we work with."""
    async with _session(url) as (session, shown):
        (server,) = await session.ask(Statement("SHOW server_version"))
        found = await schema_of(session, shown)
        if found == 0:
            raise StoreNotMade(shown)
        return shown, f"PostgreSQL {server.rows[0][0].split()[0]}", found, newest(ENGINE)


@asynccontextmanager
async def _session(url: str) -> AsyncIterator[tuple[Session, str]]:
    address = PostgresAddress(url)
    sessions = Sessions(address)
    try:
        session = await sessions.take()
        try:
            yield session, address.shown
        finally:
            await sessions.give(session)
    except psycopg.Error as error:
        raise translated(error, address.shown) from error
    finally:
        await sessions.close()
