"""A board with very many finished tasks: what it costs to get there, and a claim then."""

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from benchmarks.board import RULES, add_all, work_all
from benchmarks.measure import SCRATCH, like_the_command
from benchmarks.story import Story
from core.domain.agent import Agent, Role
from core.domain.task import AgentName
from core.mailbox import Mailbox
from core.store.sqlite import SqliteStore
from core.store.sqlite_file import Synchronous
from core.task_board import TaskBoard

CLAIMS = 400
ADA = Agent(name=AgentName("ada"), roles=frozenset({Role.EXECUTOR}))


async def measure(folder: Path, tasks: int) -> None:
    full = await SqliteStore.open(folder / "full.db", synchronous=Synchronous.NORMAL)
    board = TaskBoard(full, RULES)
    story = Story(tasks)
    cpu = time.process_time()
    await add_all(board, story)
    await work_all(board, Mailbox(full), story)
    cpu = time.process_time() - cpu
    empty = await SqliteStore.open(folder / "empty.db", synchronous=Synchronous.NORMAL)
    boards = {"full": board, "empty": TaskBoard(empty, RULES)}
    taken = await claims(boards)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    medians = [statistics.median(taken[name]) for name in ("full", "empty")]
    print(cpu / tasks * 1e6, peak, *medians)
    await full.close()
    await empty.close()


async def claims(boards: dict[str, TaskBoard]) -> dict[str, list[float]]:
    """Microseconds of each claim, taken in turn from both boards."""
    for board in boards.values():
        await add_all(board, Story(CLAIMS))
    taken: dict[str, list[float]] = {name: [] for name in boards}
    for _ in range(CLAIMS):
        for name, board in boards.items():
            start = time.perf_counter()
            claim = await board.claim_next(ADA)
            taken[name].append((time.perf_counter() - start) * 1e6)
            assert claim is not None, "every claim finds work"
    return taken


if __name__ == "__main__":
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        like_the_command()
        anyio.run(measure, Path(scratch), int(sys.argv[1]))
