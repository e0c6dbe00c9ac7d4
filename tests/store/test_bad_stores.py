"""Stores that can't be served: refused in one sentence, and nothing that was kept is lost."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random

import pytest

from core.domain.plan import NewTask
from core.domain.task import TaskId
from core.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreTooNew,
    StoreUnreachable,
)
from core.invariants import check
from core.store.migrations import newest
from core.store.sqlite import SqliteStore
from core.task_board import TaskBoard
from tests.store.stores import writer_of
from tests.support import children
from tests.support.samples import put
from tests.support.together import together


@asynccontextmanager
async def opened(path: Path, lock_seconds: float = 5) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(path, lock_seconds=lock_seconds)
    try:
        yield store
    finally:
        await store.close()


async def fill(path: Path, count: int = 3) -> list[TaskId]:
    """A store with some tasks in it."""
    async with opened(path) as store:
        board = TaskBoard(store)
        return [(await board.add(NewTask(title=f"kept {n}"))).id for n in range(count)]


async def everything_in(path: Path) -> list[TaskId]:
    """All tasks of a store that keeps its promises."""
    async with opened(path) as store:
        assert await check(store) == []
        async with store.read() as reader:
            return [task.id for task in await reader.all_tasks()]


def is_one_sentence_about(sentence: object, path: Path) -> bool:
    text = str(sentence)
    return str(path) in text and "\n" not in text and ". " not in text.replace(str(path), "")


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that everybody may enter; pytest's own are closed to all but their owner."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


NOT_STORES = {
    "random bytes": Random(0).randbytes(20_000),
    "a text": b"this was never a database\n" * 40,
    "a header and nothing sound": b"SQLite format 3\x00" + Random(1).randbytes(20_000),
}


@pytest.mark.parametrize("name", NOT_STORES)
async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "swarm.db"
    path.write_bytes(NOT_STORES[name])

    with pytest.raises(StoreCorrupt) as refusal:
        await SqliteStore.open(path)

    assert is_one_sentence_about(refusal.value, path)
    assert path.read_bytes() == NOT_STORES[name]


async def test_a_store_overwritten_in_the_middle_is_called_damaged(tmp_path: Path) -> None:
    path, backup = tmp_path / "swarm.db", tmp_path / "backup.db"
    kept = await fill(path, 300)
    shutil.copy(path, backup)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(Random(2).randbytes(size // 3))

    with pytest.raises(StoreCorrupt) as refusal:
        await everything_in(path)

    assert is_one_sentence_about(refusal.value, path)
    shutil.copy(backup, path)
    assert await everything_in(path) == kept


@pytest.mark.parametrize("way", ["read", "step"])
async def test_a_row_that_makes_no_sense_is_called_damaged(tmp_path: Path, way: str) -> None:
    path = tmp_path / "swarm.db"
    first, second, _ = await fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE tasks SET status = 'p\x01nd\x02ng' WHERE id = ?", (first,))

    async with opened(path) as store:
        with pytest.raises(StoreCorrupt) as refusal:
            async with store.read() if way == "read" else store.transaction() as reader:
                await reader.task(first)

        assert is_one_sentence_about(refusal.value, path)
        async with store.transaction() as tx:
            assert (await tx.task(second)).title == "kept 1"


async def test_a_store_of_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"
    kept = await fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"PRAGMA user_version = {newest('sqlite') + 1}")
    before = path.read_bytes()

    with pytest.raises(StoreTooNew) as refusal:
        await SqliteStore.open(path)

    assert is_one_sentence_about(refusal.value, path)
    assert refusal.value.found == refusal.value.known + 1
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"PRAGMA user_version = {newest('sqlite')}")
    assert await everything_in(path) == kept


FOREIGN = {
    "with tables": "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('la')",
    "with a name and no table": "PRAGMA application_id = 252006674",
    "with a version and no table": "PRAGMA user_version = 1",
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_the_database_of_another_application_is_refused_and_left_as_it_is(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "songs.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.executescript(FOREIGN[name])
    before = path.read_bytes()

    with pytest.raises(StoreForeign) as refusal:
        await SqliteStore.open(path)

    assert is_one_sentence_about(refusal.value, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["songs.db"]


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable) as refusal:
        await SqliteStore.open(tmp_path)

    assert is_one_sentence_about(refusal.value, tmp_path)


async def test_a_store_in_a_missing_folder_can_not_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "swarm.db"

    with pytest.raises(StoreUnreachable) as refusal:
        await SqliteStore.open(path)

    assert is_one_sentence_about(refusal.value, path)
    assert not path.parent.exists()


async def test_what_may_not_be_written_is_refused_and_kept(public_folder: Path) -> None:
    """A file without the right to write, the same in a closed folder, and a new one there."""
    read_only = public_folder / "file.db"
    closed = public_folder / "closed"
    closed.mkdir()
    kept = [await fill(read_only), await fill(closed / "swarm.db")]
    read_only.chmod(0o444)
    public_folder.chmod(0o777)
    (closed / "swarm.db").chmod(0o444)
    closed.chmod(0o555)
    paths = [read_only, closed / "swarm.db", closed / "new.db"]

    told = children.run("write_as_nobody", *paths)

    closed.chmod(0o755)
    assert [error for error, _ in told] == ["StoreReadOnly", "StoreReadOnly", "StoreUnreachable"]
    assert all(
        is_one_sentence_about(sentence, path)
        for (_, sentence), path in zip(told, paths, strict=True)
    )
    for path in paths[:2]:
        path.chmod(0o644)
    assert [await everything_in(path) for path in paths[:2]] == kept
    assert not paths[2].exists()


@pytest.mark.parametrize("looked", [False, True], ids=["at its end", "while it runs"])
async def test_a_step_that_finds_the_disk_full_says_so_and_the_store_goes_on(
    tmp_path: Path, looked: bool
) -> None:
    path = tmp_path / "swarm.db"
    kept = await fill(path)
    async with opened(path) as store:
        board = TaskBoard(store)
        (pages,) = writer_of(store).execute("PRAGMA page_count").fetchone()
        writer_of(store).execute(f"PRAGMA max_page_count = {pages}")

        async def add_much() -> None:
            async with store.transaction() as tx:
                put(tx, await tx.task(kept[0]), description="x" * 100_000)
                if looked:
                    await tx.all_tasks()

        async def add_little() -> None:
            await board.add(NewTask(title="a neighbour"))

        neighbour, much = await together(add_little, add_much)

        assert isinstance(neighbour, StoreFull)
        assert isinstance(much, StoreFull)
        assert is_one_sentence_about(much, path)
        writer_of(store).execute(f"PRAGMA max_page_count = {pages + 1000}")
        kept.append((await board.add(NewTask(title="later"))).id)
    assert await everything_in(path) == kept


async def test_a_file_that_may_not_grow_is_another_failure_than_a_full_disk(
    tmp_path: Path,
) -> None:
    path = tmp_path / "swarm.db"

    (error, sentence), kept = children.run("write_until_no_room", path, 60_000)

    assert error == "StoreFailed"
    assert is_one_sentence_about(sentence, path)
    assert len(kept) > 2
    assert await everything_in(path) == kept


async def test_a_step_gives_up_on_a_store_that_another_process_locks(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"
    kept = await fill(path)
    async with opened(path, lock_seconds=0.05) as store:
        holder = children.start("hold_lock", path)
        assert children.hear(holder) == "locked"

        with pytest.raises(StoreBusy) as refusal:
            await TaskBoard(store).add(NewTask(title="too early"))

        async with store.read() as reader:
            seen = [task.id for task in await reader.all_tasks()]
        children.release(holder)
        kept.append((await TaskBoard(store).add(NewTask(title="in time"))).id)
        assert is_one_sentence_about(refusal.value, path)
        assert refusal.value.waited_seconds >= 0.05
        assert seen == kept[:-1]
    assert await everything_in(path) == kept


async def test_a_store_that_another_process_writes_to_can_be_opened_and_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "swarm.db"
    kept = await fill(path)
    holder = children.start("hold_lock", path)
    assert children.hear(holder) == "locked"

    seen = await everything_in(path)
    children.release(holder)

    assert seen == kept


async def test_a_store_that_another_process_is_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "swarm.db"
    holder = children.start("hold_lock", path)
    assert children.hear(holder) == "locked"

    with pytest.raises(StoreBusy) as refusal:
        await SqliteStore.open(path, lock_seconds=0.05)
    children.release(holder)

    assert is_one_sentence_about(refusal.value, path)
    assert await fill(path) == await everything_in(path)
