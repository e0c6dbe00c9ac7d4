"""The real command: in a pipe, or in a terminal whose screen a test can read."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte

from tests.support.openai_server import Brain as ServerBrain
from tests.support.openai_server import OpenAIServer

DEADLINE_SECONDS = 30.0
HERE = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "core")


IN_TURN = """
import contextlib, io, json, sys
from core.cli import main
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


@contextmanager
def model_server(brain: ServerBrain) -> Iterator[OpenAIServer]:
    """A scripted model server in a thread of its own, while tests wait for processes."""
    server = OpenAIServer(brain)
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with server.running():
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(DEADLINE_SECONDS), "the model server did not start"
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(DEADLINE_SECONDS)


def environment(server: OpenAIServer | None) -> dict[str, str]:
    """Nothing of whoever runs the tests but the way to their programs."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), "LANG": "C.UTF-8"}
    env["HOME"] = env["SWARM_MODELS"] = "/nonexistent"
    return env | ({"OPENAI_BASE_URL": server.url} if server is not None else {})


class Command:
    """`swarm` in one project."""

    def __init__(self, project: Path, server: OpenAIServer | None = None) -> None:
        self.project = project
        self.env = environment(server)

    def __call__(
        self, *words: str, text: str | bytes = "", timeout: float = DEADLINE_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=self.project,
            env=self.env,
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def in_turn(self, cases: list[list[str]]) -> list[subprocess.CompletedProcess[str]]:
        """Several commands in one process: starting is most of what a short one takes."""
        ran = subprocess.run(
            [sys.executable, "-c", IN_TURN, json.dumps(cases)],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=True,
        )
        return [
            subprocess.CompletedProcess(words, *json.loads(line))
            for words, line in zip(cases, ran.stdout.splitlines(), strict=True)
        ]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.project,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def terminal(self, *words: str, columns: int = 100, rows: int = 30) -> "Terminal":
        return Terminal(self, words, columns, rows)


class Terminal:
    """A person at a terminal of this size."""

    def __init__(self, command: Command, words: tuple[str, ...], columns: int, rows: int) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self._screen)
        self.received = b""
        self.child: pexpect.spawn[bytes] = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], *words],
            cwd=str(command.project),
            env={**command.env, "TERM": "xterm-256color"},
            dimensions=(rows, columns),
            timeout=DEADLINE_SECONDS,
        )

    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        return "\n".join(self.lines())

    def wait_until(self, seen: Callable[[str], bool]) -> str:
        """Read until the screen is as wanted; the screen at that moment."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not seen(self.text()):
            assert time.monotonic() < deadline, f"never seen; the screen is:\n{self.text()}"
            if not self._read():
                assert seen(self.text()), f"the command ended with this screen:\n{self.text()}"
        return self.text()

    def wait_for(self, *words: str) -> str:
        return self.wait_until(lambda screen: all(word in screen for word in words))

    def end(self) -> int:
        """Read until the command ends; its exit code."""
        while self._read():
            pass
        self.child.close()
        return self.child.exitstatus if self.child.exitstatus is not None else -1

    def _read(self) -> bool:
        try:
            data = self.child.read_nonblocking(65536, timeout=DEADLINE_SECONDS)
        except pexpect.EOF:
            return False
        self.received += data
        self._stream.feed(data)
        return True
