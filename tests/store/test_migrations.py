"""A store is made and brought up to date once, whoever comes first and whoever is killed."""

import json
import re
import signal
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from core.domain.events import SCHEMA, EventType, Fact, SaidFact
from core.domain.plan import NewTask
from core.domain.task import TaskStatus
from core.errors import StoreBusy
from core.invariants import check
from core.store.migrations import migrations, newest, statements
from core.store.sqlite import SqliteStore
from core.task_board import TaskBoard
from tests.support import children
from tests.support.together import together


def schema_of(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as other:
        (version,) = other.execute("PRAGMA user_version").fetchone()
        (application,) = other.execute("PRAGMA application_id").fetchone()
        made = other.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    return [("version", str(version), str(application)), *made]


async def open_and_close(path: Path) -> None:
    await (await SqliteStore.open(path)).close()


async def titles_in(path: Path) -> list[str]:
    store = await SqliteStore.open(path)
    try:
        assert await check(store) == []
        async with store.read() as reader:
            return sorted(task.title for task in await reader.all_tasks())
    finally:
        await store.close()


def trace(monkeypatch: pytest.MonkeyPatch, heard: Any) -> None:
    """Have every statement of connections opened from now on told to somebody."""
    connect = sqlite3.connect

    def traced(*words: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*words, **named)
        connection.set_trace_callback(heard)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)


def test_migrations_are_numbered_one_by_one() -> None:
    numbers = [number for number, _ in migrations("sqlite")]

    assert numbers == list(range(1, newest("sqlite") + 1))


def test_every_statement_of_a_migration_is_applied() -> None:
    for _, script in migrations("sqlite"):
        assert "".join(statements(script)) == script


async def test_two_processes_may_make_one_store_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"
    pair = [children.start("open_at_a_word", path, title) for title in ("one", "two")]
    ready = [children.hear(child) for child in pair]

    for child in pair:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    failures = [children.answer_of(child) for child in pair]

    assert ready == ["ready", "ready"]
    assert failures == [None, None]
    assert await titles_in(path) == ["one", "two"]


async def test_many_may_make_one_store_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"

    ended = await together(*[lambda: open_and_close(path)] * 8)

    assert ended == [None] * 8
    assert await titles_in(path) == []


async def test_a_store_made_while_another_looks_at_it_is_no_foreign_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is empty at the first look and has tables at the next, unless both are one."""
    path = tmp_path / "swarm.db"
    made: list[str] = []

    async def make() -> None:
        with suppress(StoreBusy):
            await (await SqliteStore.open(path, lock_seconds=0.1)).close()

    def make_meanwhile(statement: str) -> None:
        if "sqlite_master" in statement and not made:
            made.append(statement)
            other = threading.Thread(target=anyio.run, args=(make,))
            other.start()
            other.join()

    trace(monkeypatch, make_meanwhile)

    await open_and_close(path)

    assert made != []
    assert await titles_in(path) == []


@pytest.mark.parametrize("tables", [0, 1, 9])
async def test_a_process_killed_while_it_makes_a_store_leaves_no_half_of_it(
    tmp_path: Path, tables: int
) -> None:
    path, whole = tmp_path / "swarm.db", tmp_path / "whole.db"
    await open_and_close(whole)
    child = children.start("die_while_migrating", path, tables)
    with child:
        child.wait(30)

    left = schema_of(path)
    await open_and_close(path)

    assert child.returncode == -signal.SIGKILL
    assert left == [("version", "0", "0")]
    assert schema_of(path) == schema_of(whole)


async def test_opening_a_store_again_makes_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "swarm.db"
    store = await SqliteStore.open(path)
    await TaskBoard(store).add(NewTask(title="kept"))
    await store.close()
    before, heard = path.read_bytes(), list[str]()

    trace(monkeypatch, heard.append)
    await open_and_close(path)

    assert path.read_bytes() == before
    assert [one for one in heard if re.match("CREATE|ALTER|DROP|INSERT|UPDATE", one)] == []
    assert await titles_in(path) == ["kept"]


async def test_events_of_another_version_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"
    await open_and_close(path)
    rows = [
        (SCHEMA, "task_levitated", {"height": 3}),
        (SCHEMA + 1, "task_failed", {"text": [1, 2], "status": "levitating"}),
        (SCHEMA, "task_failed", {"text": "why", "status": "failed", "height": 3}),
        (SCHEMA, "mail_sent", {"mail": 1, "stamps": ["a", "b"]}),
    ]
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for v, name, data in rows:
            other.execute(
                "INSERT INTO events (v, ts, type, data) VALUES (?, 1.5, ?, ?)",
                (v, name, json.dumps(data)),
            )
    store = await SqliteStore.open(path)
    try:
        async with store.read() as reader:
            levitated, newer, failed, sent = await reader.events(0, 10)
    finally:
        await store.close()

    assert (levitated.type, levitated.data) == (EventType.UNKNOWN, Fact())
    assert (newer.type, newer.data, newer.v) == (EventType.UNKNOWN, Fact(), SCHEMA + 1)
    assert failed.data == SaidFact(text="why", status=TaskStatus.FAILED)
    assert (sent.type, sent.data.model_dump()["mail"]) == (EventType.MAIL_SENT, 1)
    assert [json.loads(event.line())["seq"] for event in (levitated, newer, failed, sent)] == [
        1,
        2,
        3,
        4,
    ]


async def test_telling_goes_on_after_events_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"
    await open_and_close(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("INSERT INTO events VALUES (41, 9, 1.5, 'task_levitated', NULL, NULL, '{}')")

    store = await SqliteStore.open(path)
    try:
        board = TaskBoard(store)
        await board.add(NewTask(title="after it"))
        numbers = [event.seq for event in await board.events(0)]
        violations = await check(store)
    finally:
        await store.close()

    assert numbers == [41, 42]
    assert violations == []
