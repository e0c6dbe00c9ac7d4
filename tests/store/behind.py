"""A look behind an SQLite store: its file as another program sees it, and what it commits."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.store.protocol import Store
from tests.store.stores import writer_of


@contextmanager
def another_connection(folder: Path) -> Iterator[sqlite3.Connection]:
    """As another program sees the file: nothing that is not committed."""
    connection = sqlite3.connect(folder / "swarm.db", isolation_level=None, timeout=0)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def locked(folder: Path) -> Iterator[sqlite3.Connection]:
    """Another program writes; a test may end that before this does."""
    with another_connection(folder) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def titles_in(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT title FROM tasks ORDER BY number")]


@contextmanager
def counted_commits(store: Store) -> Iterator[list[str]]:
    """The commits of a store, as they happen."""
    commits: list[str] = []
    writer_of(store).set_trace_callback(
        lambda statement: commits.append(statement) if statement == "COMMIT" else None
    )
    try:
        yield commits
    finally:
        writer_of(store).set_trace_callback(None)
