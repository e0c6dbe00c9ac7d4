"""Sessions of one process with one server: opened when needed, kept, and given up when broken."""

import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import anyio
import psycopg

from core.errors import StoreBusy, StoreError, StoreInterrupted, StoreUnsupported
from core.store.postgres_address import OLDEST, OLDEST_SHOWN, PostgresAddress, no_server
from core.store.postgres_words import Statement, is_lost, kept, numbered, read, translated

SETTINGS = {
    "lock_timeout": "15s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "10s",
}
"""A step takes milliseconds: who is idle in one for seconds stands still, and is cut off before
those who wait for its locks give up."""
PATIENCE_SECONDS = 60.0
"""How long work goes on trying while a server that answered before does not."""
FIRST_PATIENCE_SECONDS = 1.0
LAST_WORDS_SECONDS = 5.0
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.02, 1.0

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
Renew = Callable[["Session"], Awaitable[None]]


class Answer(NamedTuple):
    rows: list[Sequence[Any]]
    changed: int
    tag: str


class Session:
    """One connection, and the transaction it is in; several statements make one round trip."""

    def __init__(
        self, connection: Connection, known: frozenset[str], begin: str, renew: Renew | None
    ) -> None:
        self.connection = connection
        self.begun = False
        self._known = known
        self._begin = begin
        self._renew = renew
        """Where the connection was kept from before, it may have ended since."""

    def call(self, name: str, text: str, values: Sequence[Any] = ()) -> Statement:
        """A statement that the server has planned beforehand, where it keeps such plans."""
        if name not in self._known:
            return Statement(text, values)
        places = ", ".join(["%s"] * len(values))
        return Statement(f"EXECUTE {name}({places})" if values else f"EXECUTE {name}", values)

    async def ask(self, *statements: Statement) -> list[Answer]:
        """Their answers; the first ask begins the transaction."""
        if self.begun:
            return await send(self.connection, statements)
        opening = tuple(map(Statement, self._begin.split("; ")))
        self.begun = True
        try:
            answers = await send(self.connection, (*opening, *statements))
        except psycopg.OperationalError as error:
            if self._renew is None or not is_lost(error):
                raise
            await self._renew(self)
            answers = await send(self.connection, (*opening, *statements))
        return answers[len(opening) :]

    async def end(self, how: str = "ROLLBACK") -> None:
        """Leave the transaction, or the connection where that is not possible any more."""
        if self.begun and not self.connection.closed:
            answers = await send(self.connection, [Statement(how)])
            assert answers[0].tag == how, "a step that failed is not committed"
        self.begun = False


async def send(connection: Connection, statements: Sequence[Statement]) -> list[Answer]:
    cursor = psycopg.AsyncClientCursor(connection)
    text = "; ".join(one.text for one in statements)
    await cursor.execute(text, kept(value for one in statements for value in one.values))
    answers = []
    while True:
        rows = [read(row) for row in await cursor.fetchall()] if cursor.description else []
        answers.append(Answer(rows, cursor.rowcount, cursor.statusmessage or ""))
        if not cursor.nextset():
            return answers


class Sessions:
    """At most so many at once; whoever comes when all are taken waits for one."""

    def __init__(self, address: PostgresAddress) -> None:
        # What it warns of is told as errors here; without this it would write to a user's terminal.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
        self.address = address
        self._plans: dict[str, str] = {}
        self._free: list[Connection] = []
        self._room = anyio.Semaphore(address.connections)
        self._answered = False
        self.patience_seconds = PATIENCE_SECONDS

    async def plan(self, session: Session, plans: dict[str, str]) -> None:
        """Have these planned in this session and in all that come; a pooler keeps no plans."""
        if self.address.notify:
            self._plans = plans
            await self._prepare(session.connection)

    async def take(self, begin: str = "BEGIN") -> Session:
        try:
            with anyio.fail_after(self.patience_seconds):
                await self._room.acquire()
        except TimeoutError:
            raise StoreBusy(self.address.shown, self.patience_seconds) from None
        try:
            old = self._one_that_lives()
            connection = old or await self.connect_patiently()
        except BaseException:
            self._room.release()
            raise
        renew = self._renew if old else None
        return Session(connection, frozenset(self._plans), self._opening(begin), renew)

    async def _renew(self, session: Session) -> None:
        """Another connection for a session in which nothing has happened yet."""
        await session.connection.close()
        await self.close()
        session.connection = await self.connect_patiently()

    async def give(self, session: Session) -> None:
        """Back for others; what is still open in it is undone first."""
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(LAST_WORDS_SECONDS):
                await session.end()
        except psycopg.Error:
            await session.connection.close()
        finally:
            if session.begun:
                await session.connection.close()
            if not session.connection.closed:
                self._free.append(session.connection)
            self._room.release()

    async def connect_patiently(self) -> Connection:
        """Try again while the server may only be starting; a first look is not worth long."""
        began, wait = time.monotonic(), FIRST_WAIT_SECONDS
        limit = self.patience_seconds if self._answered else FIRST_PATIENCE_SECONDS
        while True:
            try:
                connection = await self.connect()
            except StoreInterrupted as error:
                refusal: StoreError = error
            except psycopg.OperationalError as error:
                refusal = self.address.refused(error)
                if not self._answered and not _passes(error):
                    raise refusal from error
            else:
                self._answered = True
                return connection
            if time.monotonic() - began > limit:
                raise refusal
            await anyio.sleep(random.uniform(wait / 2, wait))
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def connect(self) -> Connection:
        connection = await psycopg.AsyncConnection.connect(
            self.address.conninfo(SETTINGS), autocommit=True, prepare_threshold=None
        )
        try:
            self._check_version(connection)
            await self._prepare(connection)
        except psycopg.Error as error:
            await connection.close()
            raise translated(error, self.address.shown) from error
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _prepare(self, connection: Connection) -> None:
        plans = [
            Statement(f"PREPARE {name} AS {numbered(text)}") for name, text in self._plans.items()
        ]
        if plans:
            await send(connection, plans)

    async def close(self) -> None:
        while self._free:
            await self._free.pop().close()

    def _one_that_lives(self) -> Connection | None:
        while self._free:
            connection = self._free.pop()
            if not connection.closed and not connection.broken:
                return connection
        return None

    def _opening(self, begin: str) -> str:
        """Behind a pooler the limits hold for one transaction only."""
        if self.address.notify:
            return begin
        limits = [f"SET LOCAL {name} = '{value}'" for name, value in SETTINGS.items()]
        return "; ".join((begin, *limits))

    def _check_version(self, connection: Connection) -> None:
        found = connection.info.server_version
        if found < OLDEST:
            named = f"PostgreSQL {found // 10000}" if found >= 100000 else "an old PostgreSQL"
            supported = f"PostgreSQL {OLDEST_SHOWN} or newer"
            raise StoreUnsupported(self.address.shown, named, supported)


def _passes(error: psycopg.Error) -> bool:
    """Worth another try even when the server never answered before."""
    said = str(error)
    return no_server(said) or "starting up" in said or "shutting down" in said
