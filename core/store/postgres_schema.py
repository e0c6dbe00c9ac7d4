"""The schema on PostgreSQL: made, checked and brought up to date."""

from core.errors import StoreForeign, StoreNotMade, StoreTooNew, StoreTooOld
from core.store.migrations import migrations, newest
from core.store.postgres_sessions import Session
from core.store.postgres_words import Statement

ENGINE = "postgres"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('swarm schema', 0))"
# In one statement: another process may be making the board right now.
_TABLES = (
    "SELECT to_regclass('swarm_store') IS NOT NULL, (SELECT count(*) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v', 'm', 'p', 'f'))"
)
_SCHEMA = "SELECT schema FROM swarm_store"
AHEAD = (
    "UPDATE swarm_store SET shift = shift + behind FROM (SELECT (coalesce(max(seq), 0) >> 14) + 1 "
    "- (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + (SELECT shift FROM swarm_store)) "
    "AS behind FROM events) AS numbers WHERE behind > 0"
)
"""A database that was restored elsewhere comes to a server whose transactions count lower."""


async def schema_of(session: Session, shown: str) -> int:
    """Its number, 0 where there is nothing at all; refuses the tables of others."""
    (found,) = await session.ask(Statement(_TABLES))
    ours, tables = found.rows[0]
    if ours:
        (found,) = await session.ask(Statement(_SCHEMA))
        return int(found.rows[0][0])
    if tables:
        raise StoreForeign(shown)
    return 0


async def check_schema(session: Session, shown: str) -> None:
    found, known = await schema_of(session, shown), newest(ENGINE)
    if found == 0:
        raise StoreNotMade(shown)
    if found > known:
        raise StoreTooNew(shown, found, known)
    if found < known:
        raise StoreTooOld(shown, found, known)
    await session.ask(Statement(AHEAD))
    await session.commit()


async def bring_up_to_date(session: Session, shown: str) -> tuple[int, int]:
    """The schema before and after; all of it or nothing, and two at once are one."""
    await session.ask(Statement(_LOCK))
    before, known = await schema_of(session, shown), newest(ENGINE)
    if before > known:
        raise StoreTooNew(shown, before, known)
    for number, script in migrations(ENGINE):
        if number > before:
            await session.ask(Statement(script.replace("%", "%%")))
    if before < known:
        await session.ask(Statement("UPDATE swarm_store SET schema = %s", (known,)))
    await session.commit()
    return before, known
