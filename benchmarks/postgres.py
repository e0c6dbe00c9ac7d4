"""`python -m benchmarks.postgres`: the board on PostgreSQL against a bare SKIP LOCKED loop."""

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import anyio

from benchmarks.board import RULES, add_all
from benchmarks.story import Story
from core.domain.task import Complexity
from core.store import open_store
from core.store import postgres_queries as queries
from core.task_board import TaskBoard
from tests.support.postgres_boards import make_board
from tests.support.postgres_server import PostgresServer, running

AGENTS = 8
"""In each process, with a connection each."""
TASKS, RUNS = 400, 3
PROCESSES = (1, 2, 4)
FINISHED = 100_000
FILL_FINISHED = (
    b"INSERT INTO tasks (id, kind, root, title, status, settled, waited_idle_seconds, hint, rank, "
    b"root_created, version, description, result) SELECT 'done' || i, 'task', 'done' || i, 't', "
    b"'completed', 1, 0, 1, '', i, 9, repeat('d', 100), repeat('r', 200) "
    b"FROM generate_series(1, %d) AS i"
)


class _AllNormal(Story):
    def complexity(self, number: int) -> Complexity:
        return Complexity.NORMAL


def main() -> None:
    with running(18, durable=True) as server:
        print(f"PostgreSQL 18 in {server.folder.parent}, synchronous_commit on")
        print(f"cycles (claim, submit, take, critique) a second, medians of {RUNS} runs in turn")
        for processes in PROCESSES:
            board, floor = compare(server, processes)
            print(f"{processes} processes: board {board:5.0f}, floor {floor:5.0f}, ", end="")
            print(f"ratio {board / floor:.2f}", flush=True)
        buffers(server)


def compare(server: PostgresServer, processes: int) -> tuple[float, float]:
    taken: dict[str, list[float]] = {"board": [], "floor": []}
    for _ in range(RUNS):
        for side, found in taken.items():
            found.append(once(server, side, processes))
    return statistics.median(taken["board"]), statistics.median(taken["floor"])


def once(server: PostgresServer, side: str, processes: int) -> float:
    """Cycles a second of so many processes on a fresh board."""
    url = fresh_board(server, TASKS)
    command = [sys.executable, "-m", "benchmarks.postgres_side", side, url, str(AGENTS)]
    crew = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for child in crew:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for child in crew:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    done = sum(int(child.communicate()[0]) for child in crew)
    seconds = time.perf_counter() - began
    assert done == TASKS, f"{done} cycles for {TASKS} tasks"
    return done / seconds


def fresh_board(server: PostgresServer, tasks: int) -> str:
    url = server.url(server.new_database())
    make_board(url)

    async def fill() -> None:
        store = await open_store(url)
        await add_all(TaskBoard(store, RULES), _AllNormal(tasks))
        await store.close()

    anyio.run(fill)
    with server.connect(url.partition("///")[2].partition("?")[0]) as connection:
        connection.execute("CREATE SEQUENCE floor_events")
        connection.execute("VACUUM ANALYZE")
    return url


def buffers(server: PostgresServer) -> None:
    """What a claim touches on a board without, and with very many finished tasks."""
    url = fresh_board(server, 20)
    with server.connect(url.partition("///")[2].partition("?")[0]) as connection:
        found = []
        for count in (0, FINISHED):
            connection.execute(FILL_FINISHED % count)
            connection.execute("VACUUM ANALYZE tasks")
            question = queries.CLAIM_ANY.replace("%s", "'work'")
            plan = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS) {question}").fetchall()
            touched = re.search(r"Buffers: shared hit=(\d+)", "\n".join(str(r[0]) for r in plan))
            assert touched is not None, "the plan says what it touched"
            found.append(int(touched[1]))
    print(f"a claim touches {found[0]} buffers with no finished task, {found[1]} with {FINISHED:,}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
