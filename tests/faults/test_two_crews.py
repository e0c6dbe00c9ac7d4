"""Two `swarm work` with crews of their own share one board on PostgreSQL."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from core.domain.events import EventType, TaskFact
from core.domain.plan import NewTask
from core.domain.task import Complexity, TaskStatus
from core.invariants import check
from core.store.postgres import PostgresStore
from core.task_board import TaskBoard
from tests.support.board import AUTO
from tests.support.brain import Brain
from tests.support.openai_server import Answer, OpenAIServer
from tests.support.postgres_boards import board_for

ROOT = Path(__file__).parents[2]
HEARTBEAT_SECONDS = 1.0
NAMES = ("north", "south")


def crew_in(folder: Path, name: str) -> Path:
    """A project whose executors are called by its name."""
    project = folder / name
    (project / ".swarm").mkdir(parents=True)
    (project / ".swarm" / "agents.yaml").write_text(
        f"agents:\n  {name}-planner: {{role: planner}}\n"
        f"  {name}: {{role: executor, count: 2}}\n  {name}-advisor: {{role: advisor}}\n"
    )
    return project


def environment(folder: Path, **more: str) -> Mapping[str, str]:
    return {**os.environ, "SWARM_STORE": board_for(folder), "PYTHONPATH": str(ROOT), **more}


async def work(server: OpenAIServer, folder: Path, project: Path) -> Process:
    more = {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "a-key",
        "SWARM_LIMITS__HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
    }
    return await anyio.open_process(
        [sys.executable, "-m", "core", "work", "-C", str(project)],
        env=environment(folder, **more),
        cwd=ROOT,
        stdin=None,
        stdout=None,
        stderr=None,
    )


async def test_two_crews_share_what_is_on_the_board(tmp_path: Path) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    board = TaskBoard(store, AUTO)
    for number in range(12):
        new = NewTask(title=f"task {number}", complexity=Complexity.SIMPLE, tags=("review:auto",))
        await board.add(new)
    brain = Brain()

    def slowly(request: dict[str, Any]) -> Answer:
        return Answer(brain(request["messages"]), delay_seconds=0.3)

    with anyio.fail_after(60):
        async with OpenAIServer(slowly).running() as server:
            crews = [await work(server, tmp_path, crew_in(tmp_path, name)) for name in NAMES]
            assert [await crew.wait() for crew in crews] == [0, 0]

    async with store.read() as reader:
        tasks = await reader.all_tasks()
    workers = {
        event.data.agent.rpartition("-")[0]
        for event in await board.events(0)
        if event.type is EventType.TASK_CLAIMED
        and isinstance(event.data, TaskFact)
        and event.data.agent
    }
    assert {task.status for task in tasks} == {TaskStatus.COMPLETED}
    assert workers == set(NAMES)
    assert brain.roles() == ["work"] * 12
    assert await check(store, AUTO) == []
    await store.close()


async def test_a_cancel_elsewhere_reaches_the_holder_with_its_next_heartbeat(
    tmp_path: Path,
) -> None:
    store = await PostgresStore.open(board_for(tmp_path))
    task = await TaskBoard(store, AUTO).add(NewTask(title="t", complexity=Complexity.SIMPLE))
    asked = anyio.Event()

    def never(request: dict[str, Any]) -> Answer:
        asked.set()
        return Answer(hang=True)

    with anyio.fail_after(60):
        async with OpenAIServer(never).running() as server:
            crew = await work(server, tmp_path, crew_in(tmp_path, "north"))
            await asked.wait()

            command = [sys.executable, "-m", "core", "cancel", task.id, "-C", str(tmp_path)]
            await anyio.run_process(command, env=environment(tmp_path), cwd=ROOT)
            cancelled = time.monotonic()
            assert await crew.wait() == 1

    # Then nothing is left to do and the crew looks once more whether others still work.
    assert time.monotonic() - cancelled < 2 * (HEARTBEAT_SECONDS + 2)
    assert (await TaskBoard(store, AUTO).get(task.id)).status is TaskStatus.CANCELLED
    assert await check(store, AUTO) == []
    await store.close()


def test_a_crew_on_a_server_that_is_away_says_so_and_exits_with_3(tmp_path: Path) -> None:
    env = {**os.environ, "SWARM_STORE": f"postgresql:///board?host={tmp_path}"}

    done = subprocess.run(
        [sys.executable, "-m", "core", "work", "-C", str(tmp_path)],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 3
    assert "no server answers there" in done.stderr
