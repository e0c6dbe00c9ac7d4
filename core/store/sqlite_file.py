"""The SQLite file: opening, preparing and locking it, and what its errors mean."""

import random
import sqlite3
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import anyio

from core.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFailed,
    StoreForeign,
    StoreFull,
    StoreNotMade,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreachable,
)
from core.store.migrations import migrations, newest, statements

APPLICATION_ID = 0x53574D31
LOCK_SECONDS = 30.0
CACHE_KIB = 64 * 1024
"""Ids are random, so a large board touches pages all over the file."""
WAL_PAGES = 4000
"""Sixteen megabytes of log before it is copied into the file, which costs as much as the writes."""
FIRST_WAIT_SECONDS = 0.0005
LONGEST_WAIT_SECONDS = 0.02


class Synchronous(StrEnum):
    """FULL survives a power cut; NORMAL may lose the last steps to one, never to a crash."""

    FULL = "FULL"
    NORMAL = "NORMAL"


async def prepared(path: Path, synchronous: Synchronous, lock_seconds: float) -> sqlite3.Connection:
    """A connection to a store of the newest schema."""
    connection = connect(path)
    try:
        await _patiently(lambda: _check_ours(connection, path), path, lock_seconds)
        await _patiently(lambda: _use_wal(connection), path, lock_seconds)
        connection.execute(f"PRAGMA synchronous = {synchronous.value}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        await _migrate(connection, path, lock_seconds)
    except sqlite3.Error as error:
        connection.close()
        raise translated(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect(path: Path, busy_seconds: float = 0) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            path,
            isolation_level=None,
            timeout=busy_seconds,
            cached_statements=512,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise translated(error, path) from error


def _use_wal(connection: sqlite3.Connection) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = WAL")


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    # In one statement: another process may be making the store right now.
    application, version, tables = connection.execute(
        "SELECT (SELECT application_id FROM pragma_application_id), "
        "(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
    ).fetchone()
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreForeign(str(path))
    if version > newest("sqlite"):
        raise StoreTooNew(str(path), version, newest("sqlite"))


async def _migrate(connection: sqlite3.Connection, path: Path, lock_seconds: float) -> None:
    for number, script in migrations("sqlite"):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version >= number:
            continue
        await begin(connection, path, lock_seconds)
        # Another process may have come first while this one waited for the lock.
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < number:
            for statement in statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")


async def begin(
    connection: sqlite3.Connection, path: Path, lock_seconds: float, came: float | None = None
) -> None:
    """Take the write lock."""
    await _patiently(lambda: connection.execute("BEGIN IMMEDIATE"), path, lock_seconds, came)


async def _patiently(
    act: Callable[[], object], path: Path, lock_seconds: float, came: float | None = None
) -> None:
    """SQLite's own waiting for a lock starves under contention, so wait with jitter."""
    started = time.monotonic() if came is None else came
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            act()
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
        waited = time.monotonic() - started
        if waited > lock_seconds:
            raise StoreBusy(str(path), waited)
        await anyio.sleep(random.uniform(0, wait))
        wait = min(wait * 2, LONGEST_WAIT_SECONDS)


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def _code(error: sqlite3.Error) -> int:
    """The primary result code, without what the extended ones add."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def translated(error: BaseException, path: Path) -> StoreError:
    """What SQLite said, as a sentence a person can act on."""
    if isinstance(error, StoreError):
        return error
    if not isinstance(error, sqlite3.Error):
        return StoreFailed(str(path), str(error))
    match _code(error):
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(str(path), str(error))
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreReadOnly(str(path))
        case sqlite3.SQLITE_FULL:
            return StoreFull(str(path))
        case sqlite3.SQLITE_CANTOPEN:
            return StoreUnreachable(str(path), "the file or its folder can't be opened")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(str(path), 0)
        case _:
            return StoreFailed(str(path), str(error))


def look_at(path: Path) -> tuple[str, str, int, int]:
    """The file, the engine, the schema there and the one we work with; changes nothing."""
    if not path.exists():
        raise StoreNotMade(str(path))
    return str(path), f"SQLite {sqlite3.sqlite_version}", version_of(path), newest("sqlite")


def version_of(path: Path) -> int:
    """The schema of a store that is there."""
    connection = connect(path)
    try:
        _check_ours(connection, path)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(version)
    except sqlite3.Error as error:
        raise translated(error, path) from error
    finally:
        connection.close()
