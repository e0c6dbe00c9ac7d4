"""The floor: plain sqlite3, one bare transaction for every change of a status."""

import os
import sqlite3
import time
from pathlib import Path

from benchmarks.story import Story


def run(folder: Path, synchronous: str, story: Story) -> None:
    """The same changes of status as the board makes, and nothing else."""
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute(
        "CREATE TABLE tasks (id TEXT PRIMARY KEY, status TEXT, title TEXT, result TEXT)"
    )
    for number in range(story.tasks):
        with_transaction(
            connection,
            "INSERT INTO tasks VALUES (?, 'pending', ?, NULL)",
            (str(number), story.description),
        )
    for number in range(story.tasks):
        for status in story.statuses(number):
            with_transaction(
                connection,
                "UPDATE tasks SET status = ?, result = ? WHERE id = ?",
                (status, story.result, str(number)),
            )
    connection.close()


def with_transaction(
    connection: sqlite3.Connection, statement: str, values: tuple[object, ...]
) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(statement, values)
    connection.execute("COMMIT")


def fsync_milliseconds(folder: Path, times: int = 50) -> float:
    """What one write and fsync of a page costs on this disk; the median."""
    taken = []
    descriptor = os.open(folder / "fsync", os.O_CREAT | os.O_WRONLY)
    for _ in range(times):
        start = time.perf_counter()
        os.write(descriptor, b"x" * 4096)
        os.fsync(descriptor)
        taken.append(time.perf_counter() - start)
    os.close(descriptor)
    return sorted(taken)[times // 2] * 1000
