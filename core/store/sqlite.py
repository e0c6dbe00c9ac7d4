"""One local SQLite file, shared by processes; steps that are ready together share one commit."""

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

import anyio
import anyio.lowlevel

from core.bell import EVENTS, Bell
from core.clock import Clock, SystemClock
from core.errors import StoreError, UnstorableText
from core.store.cache import Shared
from core.store.sqlite_file import (
    LOCK_SECONDS,
    Synchronous,
    begin,
    connect,
    prepared,
    translated,
)
from core.store.sqlite_transaction import SqliteTransaction
from core.store.sqlite_writes import Writes


class Batch:
    """Steps that share one commit."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store
        self.begun = False
        self.wrote = False
        self.writes = Writes()
        self.topics: list[str] = []
        self.error: StoreError | None = None
        self.opened = anyio.Event()
        self.done = anyio.Event()

    def flush(self) -> None:
        """Write what the steps left so far; if that fails, nothing of the batch is kept."""
        if self.error is None and self.writes:
            path = self._store.path
            try:
                self.writes.flush(self._store.writer, str(path))
            except Exception as error:
                self.error = translated(error, path)
        if self.error is not None:
            raise self.error


class SqliteStore:
    """The write connection belongs to one batch at a time; reads have a connection of their own."""

    def __init__(
        self, path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection, clock: Clock
    ) -> None:
        self.path = path
        self.bell = Bell()
        self.writer = writer
        self.clock = clock
        self.shared = Shared(str(path))
        self.batch: Batch | None = None
        self.in_step = False
        self.lock_seconds = LOCK_SECONDS
        self._readers = [reader]
        self._data_version = -1

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock | None = None,
        synchronous: Synchronous = Synchronous.FULL,
        lock_seconds: float = LOCK_SECONDS,
    ) -> "SqliteStore":
        """Open the file, or create it; refuse one that this version can't serve."""
        writer = await prepared(path, synchronous, lock_seconds)
        try:
            reader = connect(path, lock_seconds)
        except BaseException:
            writer.close()
            raise
        store = cls(path, writer, reader, clock or SystemClock())
        store.lock_seconds = lock_seconds
        return store

    async def close(self) -> None:
        self.writer.close()
        for reader in self._readers:
            reader.close()

    def transaction(self) -> "SqliteStep":
        return SqliteStep(self)

    @asynccontextmanager
    async def hearing(self) -> AsyncIterator[None]:
        """Other processes ring no bell here: whoever waits looks from time to time."""
        yield

    @asynccontextmanager
    async def read(self) -> AsyncIterator[SqliteTransaction]:
        reader = self._readers.pop() if self._readers else connect(self.path, self.lock_seconds)
        try:
            reader.execute("BEGIN")
            yield SqliteTransaction(
                reader, Shared(str(self.path), self.shared.tasks), self.clock.now()
            )
        except sqlite3.Error as error:
            raise translated(error, self.path) from error
        finally:
            if reader.in_transaction:
                reader.execute("ROLLBACK")
            self._readers.append(reader)

    async def join(self) -> tuple[Batch, bool]:
        """The batch to write in, and whether the caller opened it and has to commit it."""
        came = time.monotonic()
        while True:
            batch = self.batch
            if batch is None:
                return await self._open_batch(came), True
            if batch.begun:
                return batch, False
            await batch.opened.wait()

    async def _open_batch(self, came: float) -> Batch:
        batch = self.batch = Batch(self)
        try:
            await begin(self.writer, self.path, self.lock_seconds, came)
            self._look_for_other_writers()
        except BaseException as error:
            # Whoever waited for this batch opens the next one.
            self.batch = None
            if self.writer.in_transaction:
                self.writer.execute("ROLLBACK")
            batch.opened.set()
            if isinstance(error, sqlite3.Error):
                raise translated(error, self.path) from error
            raise
        batch.begun = True
        batch.opened.set()
        return batch

    def _look_for_other_writers(self) -> None:
        (data_version,) = self.writer.execute("PRAGMA data_version").fetchone()
        if data_version != self._data_version:
            self._data_version = data_version
            self.shared.forget()
            mail, task = self.writer.execute(
                "SELECT (SELECT max(number) FROM mail), (SELECT max(number) FROM tasks)"
            ).fetchone()
            self.shared.last_mail = mail or 0
            self.shared.last_task = task or 0

    def take(self, batch: Batch, step: SqliteTransaction) -> UnstorableText | None:
        """Add a finished step to the batch; returns why it can't be, where only it is to blame."""
        if batch.error is not None:
            return None
        try:
            step.keep(batch.writes)
        except UnstorableText as refusal:
            step.discard()
            return refusal
        except Exception as error:
            # Half of the step may be written by now, so nothing of the batch can be kept.
            batch.error = translated(error, self.path)
            return None
        batch.wrote = batch.wrote or step.wrote
        batch.topics += step.topics
        return None

    def commit(self, batch: Batch) -> None:
        """Keep the batch for good, or tell all its steps that nothing was kept."""
        self.batch = None
        try:
            if batch.error is None and batch.wrote:
                batch.flush()
                batch.writes.tell(self.writer)
                self.writer.execute("COMMIT")
        except (sqlite3.Error, StoreError) as error:
            batch.error = translated(error, self.path)
        try:
            if self.writer.in_transaction:
                self.writer.execute("ROLLBACK")
        except sqlite3.Error as error:
            batch.error = batch.error or translated(error, self.path)
        if batch.error is not None:
            self.shared.forget()
            self._data_version = -1
        else:
            self.shared.trim()
            if batch.writes.events:
                batch.topics.append(EVENTS)
            self.bell.ring(batch.topics)
        batch.done.set()


_WAITS = "a step waits inside its transaction, or opens a second one"


class SqliteStep:
    """One step of a batch: whoever opened the batch lets the others in, then commits."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def __aenter__(self) -> SqliteTransaction:
        store = self._store
        batch = store.batch
        if store.in_step:
            raise RuntimeError(_WAITS)
        self._opener = False
        if batch is None or not batch.begun:
            batch, self._opener = await store.join()
            if store.in_step:
                if self._opener:
                    store.commit(batch)
                raise RuntimeError(_WAITS)
        store.in_step = True
        self._batch = batch
        self._saw_writes = batch.wrote
        now = store.clock.now()
        self._step = SqliteTransaction(store.writer, store.shared, now, batch.flush)
        return self._step

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        store, batch = self._store, self._batch
        store.in_step = False
        if kind is not None:
            self._drop(error)
            if self._opener:
                store.commit(batch)
            if isinstance(error, sqlite3.Error):
                raise translated(error, store.path) from error
            return
        refusal = store.take(batch, self._step)
        matters = refusal is None and (self._step.wrote or self._saw_writes)
        if self._opener:
            try:
                await anyio.lowlevel.checkpoint()  # whoever is ready joins
            finally:
                store.commit(batch)  # also when cancelled
        elif matters:
            await batch.done.wait()
        if refusal is not None:
            raise refusal
        if matters and batch.error is not None:
            raise batch.error

    def _drop(self, error: BaseException | None) -> None:
        batch, path = self._batch, self._store.path
        if isinstance(error, sqlite3.Error):
            # The database itself failed: what the neighbours wrote can't be trusted either.
            batch.error = batch.error or translated(error, path)
        try:
            self._step.discard()
        except sqlite3.Error as failure:
            batch.error = batch.error or translated(failure, path)
