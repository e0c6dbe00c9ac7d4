"""What a machine of random steps stands on: a store that can be looked through, and that dies."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from core.clock import Clock
from core.store.postgres import PostgresStore
from core.store.postgres_transaction import PostgresTransaction
from core.store.protocol import Store
from core.store.sqlite import Batch, SqliteStore
from core.store.sqlite_file import Synchronous
from tests.support import postgres_boards


class DiedError(BaseException):
    """The process is gone."""


class Ground(Protocol):
    async def open(self, clock: Clock) -> Store: ...
    def dump(self, store: Store) -> object:
        """All there is, to be compared."""
        ...

    def mortal(self, store: Store) -> AbstractContextManager[None]:
        """While it lasts, the process dies right after a commit."""
        ...

    def remove(self) -> None: ...


class SqliteGround:
    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())

    async def open(self, clock: Clock) -> Store:
        file = self._folder / "swarm.db"
        return await SqliteStore.open(file, clock=clock, synchronous=Synchronous.NORMAL)

    def dump(self, store: Store) -> object:
        assert isinstance(store, SqliteStore), "opened by this ground"
        return list(store.writer.iterdump())

    @contextmanager
    def mortal(self, store: Store) -> Iterator[None]:
        assert isinstance(store, SqliteStore), "opened by this ground"
        commit = store.commit

        def commit_and_die(batch: Batch) -> None:
            commit(batch)
            store.writer.close()
            raise DiedError

        store.commit = commit_and_die  # type: ignore[method-assign]
        yield

    def remove(self) -> None:
        shutil.rmtree(self._folder)


class PostgresGround:
    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._behind = postgres_boards.behind(self._folder)

    async def open(self, clock: Clock) -> Store:
        return await PostgresStore.open(postgres_boards.board_for(self._folder), clock=clock)

    def dump(self, store: Store) -> object:
        return self._behind.execute(postgres_boards.EVERYTHING).fetchone()

    @contextmanager
    def mortal(self, store: Store) -> Iterator[None]:
        assert isinstance(store, PostgresStore), "opened by this ground"
        keep = store.keep

        async def keep_and_die(step: PostgresTransaction) -> None:
            await keep(step)
            raise DiedError

        store.keep = keep_and_die  # type: ignore[method-assign]
        yield

    def remove(self) -> None:
        self._behind.close()
        postgres_boards.give_back_boards()
        shutil.rmtree(self._folder)
