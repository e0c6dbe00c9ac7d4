"""A board moves to another engine and back without loss, or not at all."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Complexity, TaskId
from core.errors import StoreError, StoreForeign, StoreNotMade
from core.invariants import check
from core.moving import CopyRefused, copy, make, migrate, shelf, standing
from core.store import open_store
from core.store.shelf import Sum, sums
from core.store.sqlite_shelf import OpenSqliteShelf
from core.task_board import TaskBoard
from tests.faults.story import Story
from tests.support.board import ADA, AUTO, some
from tests.support.here import Here
from tests.support.postgres_boards import behind, board_for
from tests.support.samples import FULL_MAIL, FULL_TASK, a_task, put_on, told


def file(folder: Path, name: str = "swarm.db") -> str:
    return f"sqlite:{folder / name}"


async def tell_a_story(url: str) -> None:
    """A board with some of everything on it."""
    store = await open_store(url)
    await Story(store).tell()
    await store.close()


async def whole(url: str) -> dict[str, Sum]:
    async with shelf(url).open(filling=False) as one:
        return await sums(one)


async def test_a_board_moves_up_and_back_and_is_the_same(tmp_path: Path) -> None:
    source, target, back = file(tmp_path), board_for(tmp_path), file(tmp_path, "back.db")
    await tell_a_story(source)
    before = await whole(source)

    up = await copy(source, target, AUTO)
    down = await copy(target, back, AUTO)

    assert await whole(source) == await whole(target) == await whole(back) == before
    assert up.tables == down.tables == {table: one.rows for table, one in before.items()}
    assert up.hashes == down.hashes
    assert up.tables["tasks"] > 8
    assert up.tables["events"] > 50


async def test_every_field_and_every_character_moves(tmp_path: Path) -> None:
    store = await open_store(file(tmp_path))
    await put_on(store, FULL_TASK, a_task("mark", title="\ue000 and \x00\ue0000"))
    async with store.transaction() as tx:
        await tx.send(FULL_MAIL)
    await store.close()
    async with (
        shelf(file(tmp_path)).open(filling=False) as there,
        shelf(board_for(tmp_path)).open(filling=True) as here,
    ):
        for table, columns in (await there.tables()).items():
            await here.fill(table, columns, there.rows(table, columns))
        await here.keep()

    moved = await open_store(board_for(tmp_path))
    async with moved.read() as reader:
        task, mark = await reader.task(FULL_TASK.id), await reader.task(TaskId("mark"))
        (mail,) = await reader.messages()
    await moved.close()

    assert task == FULL_TASK
    assert mark.title == "\ue000 and \x00\ue0000"
    assert (mail.body, mail.not_for) == (FULL_MAIL.body, FULL_MAIL.not_for)


@pytest.mark.parametrize("up", [True, False], ids=["up", "back"])
async def test_work_goes_on_where_the_board_was_moved_to(tmp_path: Path, up: bool) -> None:
    source, target = file(tmp_path), board_for(tmp_path)
    source, target = (source, target) if up else (target, source)
    await tell_a_story(source)
    await copy(source, target, AUTO)
    store = await open_store(target)
    board = TaskBoard(store, AUTO)
    before = await told(store)

    await board.add(NewTask(title="one more", complexity=Complexity.SIMPLE))
    await board.submit(some(await board.claim_next(ADA)), Work(result="done"))

    after = await told(store)
    assert after[: len(before)] == before
    assert after == sorted(set(after))
    assert len(after) == len(before) + 4
    assert await check(store, AUTO) == []
    await store.close()


async def test_a_store_that_is_not_empty_is_not_copied_to(tmp_path: Path) -> None:
    await tell_a_story(file(tmp_path))
    store = await open_store(board_for(tmp_path))
    await put_on(store, a_task("t"))
    await store.close()
    before = await whole(board_for(tmp_path))

    with pytest.raises(CopyRefused, match="is not empty"):
        await copy(file(tmp_path), board_for(tmp_path), AUTO)

    assert await whole(board_for(tmp_path)) == before


async def test_a_board_that_somebody_works_on_is_not_copied(tmp_path: Path) -> None:
    store = await open_store(file(tmp_path))
    board = TaskBoard(store, AUTO)
    await board.add(NewTask(title="t"))
    claim = some(await board.claim_next(ADA))

    with pytest.raises(CopyRefused, match="ada holds"):
        await copy(file(tmp_path), board_for(tmp_path), AUTO)
    await board.let_go(claim)
    await store.close()

    assert (await copy(file(tmp_path), board_for(tmp_path), AUTO)).tables["tasks"] == 1


async def test_a_board_that_changes_while_it_is_copied_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell_a_story(file(tmp_path))
    fill = OpenSqliteShelf.tables

    async def and_somebody_adds(one: OpenSqliteShelf) -> Any:
        monkeypatch.undo()
        tables = await fill(one)
        store = await open_store(file(tmp_path))
        await TaskBoard(store, AUTO).add(NewTask(title="meanwhile"))
        await store.close()
        return tables

    monkeypatch.setattr(OpenSqliteShelf, "tables", and_somebody_adds)
    with pytest.raises(CopyRefused, match="was written to while"):
        await copy(file(tmp_path), board_for(tmp_path), AUTO)

    assert {one.rows for one in (await whole(board_for(tmp_path))).values()} == {0}


async def test_a_copy_that_comes_out_different_is_not_kept(tmp_path: Path) -> None:
    await tell_a_story(file(tmp_path))
    with behind(tmp_path) as other:
        other.execute(
            "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN NEW.title := NEW.title || ''!''; RETURN NEW; END'"
        )
        other.execute(
            "CREATE TRIGGER spoil BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION spoil()"
        )
        with pytest.raises(CopyRefused, match="tasks came out different"):
            await copy(file(tmp_path), board_for(tmp_path), AUTO)
        other.execute("DROP FUNCTION spoil() CASCADE")

    assert {one.rows for one in (await whole(board_for(tmp_path))).values()} == {0}


async def test_a_board_that_breaks_a_promise_is_not_copied(tmp_path: Path) -> None:
    store = await open_store(file(tmp_path))
    await put_on(store, a_task("t", claimable=None))
    await store.close()

    with pytest.raises(CopyRefused, match="breaks"):
        await copy(file(tmp_path), board_for(tmp_path), AUTO)


async def test_what_is_not_there_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(StoreNotMade):
        await copy(file(tmp_path), board_for(tmp_path), AUTO)

    assert not (tmp_path / "swarm.db").exists()


async def test_a_store_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await standing(file(tmp_path))
    for url in (file(tmp_path), board_for(tmp_path)):
        await make(url)
        assert await make(url) is False
        await tell_a_story(url)

    lite, server = await standing(file(tmp_path)), await standing(board_for(tmp_path))

    assert lite.engine.startswith("SQLite 3.")
    assert server.engine.startswith("PostgreSQL 18")
    assert (lite.tasks, lite.events, lite.held) == (server.tasks, server.events, server.held)
    assert lite.schema_version == lite.newest
    assert await migrate(file(tmp_path)) == (lite.newest, lite.newest)
    assert await migrate(board_for(tmp_path)) == (server.newest, server.newest)


def test_the_command_copies_and_says_what_it_copied(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".swarm").mkdir(parents=True)
    swarm = Here(project)
    task = swarm("add", "--task", "hello").out.strip()

    copied = swarm(
        "store", "copy", f"sqlite:{project / '.swarm' / 'swarm.db'}", board_for(tmp_path)
    )
    shown = swarm("show", task, "--store", board_for(tmp_path))
    status = swarm("store", "status", "--store", board_for(tmp_path))

    assert copied.code == shown.code == status.code == 0, copied.err
    assert "tasks                1 rows" in copied.out
    assert "every row and every promise is there" in copied.out
    assert "hello" in shown.out
    assert "1 task" in status.out


def test_the_command_makes_a_board_once(tmp_path: Path) -> None:
    swarm = Here(tmp_path)

    made = swarm("store", "init")
    again = swarm("store", "init", "--json")

    assert (made.code, again.code) == (0, 0)
    assert made.out.startswith("made the board in ")
    assert '"made": false' in again.out
    assert swarm("store", "migrate").out.startswith("nothing to do")


async def test_another_applications_file_is_not_copied_to(tmp_path: Path) -> None:
    await tell_a_story(file(tmp_path))
    with sqlite3.connect(tmp_path / "songs.db") as songs:
        songs.execute("CREATE TABLE songs (title TEXT)")

    with pytest.raises(StoreForeign):
        await copy(file(tmp_path), file(tmp_path, "songs.db"), AUTO)
