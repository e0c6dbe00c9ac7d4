"""A PostgreSQL database, shared by processes on many machines; each step is its own transaction."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

import anyio
import psycopg
from psycopg import errors

from core.bell import EVENTS, Bell
from core.clock import Clock, SystemClock
from core.errors import StoreError, StoreInterrupted, StoreOutcomeUnknown
from core.retrying import retried
from core.store import postgres_queries as queries
from core.store.postgres_address import PostgresAddress
from core.store.postgres_families import Needs
from core.store.postgres_line import Line
from core.store.postgres_schema import check_schema
from core.store.postgres_sessions import Session, Sessions
from core.store.postgres_transaction import PostgresTransaction
from core.store.postgres_wakes import Wakes
from core.store.postgres_words import Statement, is_lost, translated

PICTURE = (
    Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
    Statement("SET LOCAL idle_in_transaction_session_timeout = '120s'"),
)
"""Whoever looks at a whole board takes a while to read it."""
STILL_RUNNING_SECONDS = 0.5
"""A step whose session still runs after its connection ended is ended by then."""


class PostgresStore:
    """Steps run side by side, each in a session of its own."""

    def __init__(self, address: PostgresAddress, clock: Clock | None) -> None:
        self.address = address
        self.bell = Bell()
        self.sessions = Sessions(address)
        self.clock: Clock = clock or ServerClock()
        self.needs: Needs = {}
        self._wakes = Wakes(self.bell)

    @classmethod
    async def open(cls, url: str, *, clock: Clock | None = None) -> "PostgresStore":
        """Open the board of a database; refuse one that this version can't serve."""
        store = cls(PostgresAddress(url), clock)
        try:
            await store._prepare()
        except BaseException:
            await store.close()
            raise
        return store

    @retried
    async def _prepare(self) -> None:
        """What a process has to know of the database before its first step."""
        session = await self.sessions.take()
        try:
            await check_schema(session, self.address.shown)
            if isinstance(self.clock, ServerClock):
                await self.clock.set_by(session)
        except psycopg.Error as error:
            raise translated(error, self.address.shown) from error
        finally:
            await self.sessions.give(session)

    async def close(self) -> None:
        await self.sessions.close()

    def transaction(self) -> "PostgresStep":
        return PostgresStep(self)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[PostgresTransaction]:
        session = await self.sessions.take(PICTURE)
        try:
            shown = self.address.shown
            yield PostgresTransaction(session, shown, self.clock.now())
        except psycopg.Error as error:
            raise translated(error, self.address.shown) from error
        finally:
            await self.sessions.give(session)

    def hearing(self) -> "Hearing":
        """While it lasts, the bell also rings for what other processes made possible."""
        return Hearing(self)

    async def keep(self, step: PostgresTransaction) -> None:
        """Send what the step wrote and commit it; an unknown end is found out."""
        if not step.writes.any:
            return
        wakes = self._wakes.due(step.topics) if self.address.notify else []
        last = [*step.writes.take_all(step.known), *wakes]
        if step.number is None:
            *_, answer = await step.session.ask(*last, Statement(queries.STEP_NUMBER))
            step.number, last = str(answer.rows[0][0]), []
        try:
            await step.session.commit(*last)
        except psycopg.OperationalError as error:
            if not is_lost(error):
                raise
            await step.session.line.close()
            if not await self._was_kept(step.number, step.writes.witness(step.number)):
                why = "the connection ended before it was kept"
                raise StoreInterrupted(self.address.shown, why) from error

    async def _was_kept(self, number: str, witness: Statement | None) -> bool:
        """What became of a transaction whose connection ended while it was committed.

        A server that crashes gives the number of a transaction it lost to another one, so what
        the step left has to be there too.
        """
        began = time.monotonic()
        while time.monotonic() - began < self.sessions.patience_seconds:
            try:
                line = await self.sessions.connect_patiently()
            except StoreError:
                break
            try:
                status = await _only(line, Statement(queries.OUTCOME, (number,)))
                if status == "committed":
                    return witness is None or await _only(line, witness) is not None
                if status != "in progress":
                    return False
                if time.monotonic() - began > STILL_RUNNING_SECONDS:
                    await line.ask([Statement(queries.END_OF_STEP, (number,))])
            except errors.InvalidParameterValue:
                return False  # The server knows of no such number any more.
            except psycopg.OperationalError:
                pass
            finally:
                await line.close()
            await anyio.sleep(STILL_RUNNING_SECONDS / 10)
        raise StoreOutcomeUnknown(self.address.shown)

    def ring(self, step: PostgresTransaction) -> None:
        told = [EVENTS] if step.writes.told else []
        self.bell.ring([*step.topics, *told])


async def _only(line: Line, question: Statement) -> object:
    """The one value that is asked for, None where there is none."""
    (answer,) = await line.ask([question])
    return answer.rows[0][0] if answer.rows else None


class PostgresStep:
    """One transaction, in a session of its own."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def __aenter__(self) -> PostgresTransaction:
        store = self._store
        self._session = await store.sessions.take()
        shown, now = store.address.shown, store.clock.now()
        self._step = PostgresTransaction(self._session, shown, now, store.needs)
        return self._step

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        store, shown = self._store, self._store.address.shown
        try:
            if kind is None:
                # Also when cancelled: what was decided is kept, as on any store.
                with anyio.CancelScope(shield=True):
                    await store.keep(self._step)
        except (psycopg.Error, UnicodeEncodeError) as failure:
            raise translated(failure, shown) from failure
        finally:
            await store.sessions.give(self._session)
        if kind is None:
            store.ring(self._step)
        elif isinstance(error, psycopg.Error):
            raise translated(error, shown) from error


class Hearing:
    """Listens on a connection of its own."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def __aenter__(self) -> None:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        if self._store.address.notify:
            self._group.start_soon(self._store._wakes.hear, self._store.sessions, name="wakes")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


class ServerClock:
    """The server's time, told by this machine's steady clock: leases mean the same to all."""

    def __init__(self) -> None:
        self._ahead = time.time() - _steady()

    async def set_by(self, session: Session) -> None:
        before = _steady()
        (said,) = await session.ask(Statement("SELECT extract(epoch FROM clock_timestamp())"))
        self._ahead = float(said.rows[0][0]) - (before + _steady()) / 2

    def now(self) -> float:
        return self._ahead + _steady()

    async def sleep(self, seconds: float) -> None:
        await SystemClock().sleep(seconds)


def _steady() -> float:
    """Goes on while the machine sleeps, and no administrator sets it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
