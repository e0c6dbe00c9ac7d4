"""Child processes of tests: each is one function here, run as a program of its own."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

import core
from core.domain.plan import NewTask
from core.errors import StoreError
from core.process import this_process
from core.store.sqlite import SqliteStore
from core.task_board import TaskBoard

ROOT = Path(core.__file__).parents[1]
NOBODY = 65534


def start(name: str, *words: object) -> subprocess.Popen[str]:
    """Start a function of this module; it speaks and listens line by line."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.children", name, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def answer_of(child: subprocess.Popen[str], said: str = "") -> Any:
    """Say something to a child, wait for its end, and read what it answered."""
    with child:
        out, _ = child.communicate(said, timeout=30)
    assert child.returncode == 0, f"the child ended with {child.returncode}"
    return json.loads(out)


def run(name: str, *words: object) -> Any:
    """Run a function of this module to its end."""
    return answer_of(start(name, *words))


def hear(child: subprocess.Popen[str]) -> str:
    """The next line of a child that goes on running."""
    assert child.stdout is not None, "children speak through a pipe"
    return child.stdout.readline().strip()


def release(child: subprocess.Popen[str]) -> None:
    """Let a child that waits for its end come to it, and wait for that."""
    with child:
        child.communicate("\n", timeout=30)


def _say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


def _told(error: StoreError) -> list[str]:
    return [type(error).__name__, str(error)]


async def _add(path: Path, title: str) -> list[str] | None:
    """Open a store and add a task; what went wrong, if anything."""
    try:
        store = await SqliteStore.open(path, lock_seconds=10)
        try:
            await TaskBoard(store).add(NewTask(title=title))
        finally:
            await store.close()
    except StoreError as error:
        return _told(error)
    return None


async def write_as_nobody(*paths: str) -> None:
    """Root may write anywhere, so become somebody who may not; then try each path."""
    # What is imported at first use can't be read any more once the rights are gone.
    with tempfile.TemporaryDirectory() as folder:
        await _add(Path(folder) / "swarm.db", "warm up")
        await _add(Path(folder) / "missing" / "swarm.db", "warm up")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    _say([await _add(Path(path), "by nobody") for path in paths])


async def write_until_no_room(path: str, room_bytes: str) -> None:
    """Fill what a file may grow by, then go on with the limit lifted."""
    store = await SqliteStore.open(Path(path))
    board = TaskBoard(store)
    kept = [(await board.add(NewTask(title="early", description="x" * 50_000))).id]
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = Path(f"{path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(room_bytes), unlimited[1]))
    failed: list[str] = []
    while not failed:
        try:
            kept.append((await board.add(NewTask(title="more", description="x" * 9_000))).id)
        except StoreError as error:
            failed = _told(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    kept.append((await board.add(NewTask(title="late"))).id)
    await store.close()
    _say([failed, kept])


async def hold_lock(path: str) -> None:
    """Keep everybody else from writing until told to end."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    print("locked", flush=True)
    sys.stdin.readline()
    connection.execute("ROLLBACK")
    connection.close()


async def open_at_a_word(path: str, title: str) -> None:
    """Everything is loaded before the word comes, so two children open at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        await _add(Path(folder) / "swarm.db", "warm up")
    print("ready", flush=True)
    sys.stdin.readline()
    _say(await _add(Path(path), title))


async def die_while_migrating(path: str, statements: str) -> None:
    """Be killed when this many tables and indexes of a new store are made."""
    left = int(statements)
    connect = sqlite3.connect

    def count_down(statement: str) -> None:
        nonlocal left
        left -= statement.lstrip("- ").startswith("CREATE") or "\nCREATE" in statement
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(*words: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*words, **named)
        connection.set_trace_callback(count_down)
        return connection

    sqlite3.connect = traced  # type: ignore[assignment]
    await _add(Path(path), "never")


async def name_yourself() -> None:
    """Say who this process is, then live until told to end."""
    print(this_process(), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    anyio.run(globals()[sys.argv[1]], *sys.argv[2:])
