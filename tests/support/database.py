"""The file below a board, opened behind its back."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    """A second connection to the store of an open house; what it changes is kept."""
    with closing(sqlite3.connect(folder / "swarm.db")) as db, db:
        yield db


def everything_in(folder: Path) -> list[tuple[object, ...]]:
    """Every row of every table."""
    with database(folder) as db:
        tables = [name for (name,) in db.execute(TABLES)]
        return [(table, *row) for table in tables for row in db.execute(f"SELECT * FROM {table}")]
