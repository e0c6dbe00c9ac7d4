"""Numbered .sql files, applied once and in order."""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from sqlite3 import complete_statement


@cache
def migrations(engine: str) -> tuple[tuple[int, str], ...]:
    """Number and text of each migration of an engine, oldest first."""
    folder = resources.files("core.store") / "sql" / engine
    found = sorted(
        (int(file.name[:4]), file.read_text())
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    )
    return tuple(found)


def newest(engine: str) -> int:
    return migrations(engine)[-1][0]


def statements(script: str) -> Iterator[str]:
    """Its statements one by one, so that all of them fit in one transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if complete_statement(pending):
            yield pending
            pending = ""
