"""Sessions of one process with one server: opened when needed, kept, and given up when broken."""

import logging
import random
import time
from collections.abc import Awaitable, Callable

import anyio
import psycopg

from core.errors import StoreBusy, StoreError, StoreInterrupted, StoreUnsupported
from core.store.postgres_address import OLDEST, OLDEST_SHOWN, PostgresAddress, no_server
from core.store.postgres_line import Answer, Line
from core.store.postgres_words import Statement, is_lost

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

STEP = (Statement("BEGIN"),)
Renew = Callable[["Session"], Awaitable[None]]


class Session:
    """The transaction that a line is in."""

    def __init__(self, line: Line, begin: tuple[Statement, ...], renew: Renew | None) -> None:
        self.line = line
        self.begun = False
        self._begin = begin
        self._renew = renew
        """Where the line was kept from before, it may have ended since."""

    async def ask(self, *statements: Statement) -> list[Answer]:
        """Their answers; the first ask begins the transaction."""
        if self.begun:
            return await self.line.ask(statements)
        self.begun = True
        try:
            answers = await self.line.ask((*self._begin, *statements))
        except psycopg.OperationalError as error:
            if self._renew is None or not is_lost(error):
                raise
            await self._renew(self)
            answers = await self.line.ask((*self._begin, *statements))
        return answers[len(self._begin) :]

    async def commit(self, *last: Statement) -> None:
        """With these statements before, in one round trip."""
        *_, answer = await self.ask(*last, Statement("COMMIT"))
        assert answer.tag == "COMMIT", "a step that failed is not committed"
        self.begun = False

    async def end(self) -> None:
        """Leave the transaction, undoing what is open in it."""
        if self.begun and self.line.lives:
            await self.line.ask([Statement("ROLLBACK")])
        self.begun = False


class Sessions:
    """At most so many at once; whoever comes when all are taken waits for one."""

    def __init__(self, address: PostgresAddress) -> None:
        # What it warns of is told as errors here; without this it would write to a user's terminal.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
        self.address = address
        self._free: list[Line] = []
        self._room = anyio.Semaphore(address.connections)
        self._answered = False
        self.patience_seconds = PATIENCE_SECONDS

    async def take(self, begin: tuple[Statement, ...] = STEP) -> Session:
        try:
            with anyio.fail_after(self.patience_seconds):
                await self._room.acquire()
        except TimeoutError:
            raise StoreBusy(self.address.shown, self.patience_seconds) from None
        try:
            old = self._one_that_lives()
            line = old or await self.connect_patiently()
        except BaseException:
            self._room.release()
            raise
        renew = self._renew if old else None
        return Session(line, self._opening(begin), renew)

    async def _renew(self, session: Session) -> None:
        """Another line for a session in which nothing has happened yet."""
        await session.line.close()
        await self.close()
        session.line = await self.connect_patiently()

    async def give(self, session: Session) -> None:
        """Back for others; what is still open in it is undone first."""
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(LAST_WORDS_SECONDS):
                await session.end()
        except psycopg.Error:
            await session.line.close()
        finally:
            if session.begun:
                await session.line.close()
            if session.line.lives:
                self._free.append(session.line)
            self._room.release()

    async def connect_patiently(self) -> Line:
        """Try again while the server may only be starting; a first look is not worth long."""
        began, wait = time.monotonic(), FIRST_WAIT_SECONDS
        limit = self.patience_seconds if self._answered else FIRST_PATIENCE_SECONDS
        while True:
            try:
                line = await self.connect()
            except StoreInterrupted as error:
                refusal: StoreError = error
            except psycopg.OperationalError as error:
                refusal = self.address.refused(error)
                if not self._answered and not _passes(error):
                    raise refusal from error
            else:
                self._answered = True
                return line
            if time.monotonic() - began > limit:
                raise refusal
            await anyio.sleep(random.uniform(wait / 2, wait))
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def connect(self) -> Line:
        connection = await psycopg.AsyncConnection.connect(
            self.address.conninfo(SETTINGS), autocommit=True, prepare_threshold=None
        )
        try:
            self._check_version(connection.info.server_version)
        except StoreError:
            await connection.close()
            raise
        return Line(connection, plans=self.address.notify)

    async def close(self) -> None:
        while self._free:
            await self._free.pop().close()

    def _one_that_lives(self) -> Line | None:
        while self._free:
            line = self._free.pop()
            if line.lives:
                return line
        return None

    def _opening(self, begin: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Behind a pooler the limits hold for one transaction only."""
        if self.address.notify:
            return begin
        first, *rest = begin
        limits = [Statement(f"SET LOCAL {name} = '{value}'") for name, value in SETTINGS.items()]
        return (first, *limits, *rest)

    def _check_version(self, found: int) -> None:
        if found < OLDEST:
            named = f"PostgreSQL {found // 10000}" if found >= 100000 else "an old PostgreSQL"
            supported = f"PostgreSQL {OLDEST_SHOWN} or newer"
            raise StoreUnsupported(self.address.shown, named, supported)


def _passes(error: psycopg.Error) -> bool:
    """Worth another try even when the server never answered before."""
    said = str(error)
    return no_server(said) or "starting up" in said or "shutting down" in said
