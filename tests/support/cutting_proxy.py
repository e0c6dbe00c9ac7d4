"""A proxy before PostgreSQL that cuts connections around a COMMIT, where a test wants it."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from pathlib import Path

from tests.support.postgres_server import PostgresServer

COMMIT = b"COMMIT\x00"
CHUNK = 65536


class Cut(StrEnum):
    BEFORE = "before"
    """The server never hears of the commit."""
    AFTER = "after"
    """The server has committed, and nobody hears of it."""
    DURING = "during"
    """The server hears of it when the client has gone already."""


class CuttingProxy:
    """Asks `decide` at each COMMIT."""

    def __init__(self, server: PostgresServer, decide: Callable[[], Cut | None]) -> None:
        self.cuts: list[Cut] = []
        self.decide = decide
        self._server = server
        self._serving: set[asyncio.Task[None]] = set()
        self._folder = Path(tempfile.mkdtemp(prefix="cut-", dir="/tmp"))

    def url(self, database: str) -> str:
        return self._server.url(database, host=str(self._folder))

    @asynccontextmanager
    async def running(self) -> AsyncIterator["CuttingProxy"]:
        name = f".s.PGSQL.{self._server.port}"
        listener = await asyncio.start_unix_server(self._serve, self._folder / name)
        try:
            yield self
        finally:
            listener.close()
            for serving in list(self._serving):
                serving.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            shutil.rmtree(self._folder)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None, "every connection is served by a task"
        self._serving.add(serving)
        path = self._server.folder / f".s.PGSQL.{self._server.port}"
        with suppress(OSError, asyncio.CancelledError):
            server, to_server = await asyncio.open_unix_connection(path)
            line = _Line(to_client, server)
            answers = asyncio.create_task(line.answers())
            try:
                await self._questions(client, to_server, line)
            finally:
                answers.cancel()
                to_server.close()
        to_client.close()
        self._serving.discard(serving)

    async def _questions(
        self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter, line: "_Line"
    ) -> None:
        while said := await client.read(CHUNK):
            cut = self.decide() if said.endswith(COMMIT) else None
            if cut is not None:
                self.cuts.append(cut)
                line.swallows = True
            if cut is Cut.DURING:
                line.to_client.close()
            if cut is not Cut.BEFORE:
                to_server.write(said)
                await to_server.drain()
            if cut is Cut.AFTER:
                await line.ended.wait()
            if cut is not None:
                return


class _Line:
    """What comes back on one connection."""

    def __init__(self, to_client: asyncio.StreamWriter, server: asyncio.StreamReader) -> None:
        self.to_client, self.server = to_client, server
        self.swallows = False
        self.ended = asyncio.Event()

    async def answers(self) -> None:
        with suppress(OSError):
            while (said := await self.server.read(CHUNK)) and not self.swallows:
                self.to_client.write(said)
                await self.to_client.drain()
        self.ended.set()
        self.to_client.close()
