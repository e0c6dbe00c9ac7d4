"""Child processes of a test: started, spoken to line by line, and always ended by their id."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
LOOK_AGAIN_SECONDS = 0.01
LONGEST_LINE = 100_000


class Child:
    """One process; what it says and what is said to it are lines."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None, "children are started with pipes"
        self._process = process
        self._lines = BufferedByteReceiveStream(process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lives(self) -> bool:
        return self._process.returncode is None

    async def hear(self, seconds: float = 20) -> str:
        """The next line it says."""
        with anyio.fail_after(seconds):
            return (await self._lines.receive_until(b"\n", LONGEST_LINE)).decode()

    async def tell(self, line: str) -> None:
        assert self._process.stdin is not None, "children are started with pipes"
        await self._process.stdin.send(f"{line}\n".encode())

    def send(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    async def stop(self) -> None:
        """Make it stand still where it is; returns when it does. SIGCONT lets it go on."""
        self.send(signal.SIGSTOP)
        await until(self._stands_still, seconds=10)

    async def _stands_still(self) -> bool:
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        return found is not None

    async def kill(self) -> None:
        """Without a chance to tidy up; returns when it is gone."""
        self.send(signal.SIGKILL)
        assert await self.ended(seconds=10) == -signal.SIGKILL

    async def ended(self, seconds: float) -> int:
        """Its exit code, once it has ended."""
        with anyio.fail_after(seconds):
            return await self._process.wait()

    async def _end(self) -> None:
        with anyio.CancelScope(shield=True):
            if self.lives:
                with suppress(ProcessLookupError):
                    self.send(signal.SIGKILL)
            await self._process.aclose()


@asynccontextmanager
async def started(module: str, *arguments: object) -> AsyncIterator[Child]:
    """`python -m module arguments…`, ended with the block whatever happens in it."""
    command = [sys.executable, "-m", module, *(str(argument) for argument in arguments)]
    process = await anyio.open_process(
        command, stdin=PIPE, stdout=PIPE, stderr=None, cwd=ROOT, env=ENVIRONMENT
    )
    child = Child(process)
    try:
        yield child
    finally:
        await child._end()


async def until(look: Callable[[], Awaitable[bool]], *, seconds: float) -> None:
    """Look again and again, for at most this long: other processes ring no bell here."""
    with anyio.fail_after(seconds):
        while not await look():  # noqa: ASYNC110
            await anyio.sleep(LOOK_AGAIN_SECONDS)
