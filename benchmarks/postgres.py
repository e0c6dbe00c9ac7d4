"""`python -m benchmarks.postgres`: the board on PostgreSQL against a bare SKIP LOCKED loop."""

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

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
TASKS, RUNS = 400, 5
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


class Cost(NamedTuple):
    """Of one run."""

    cycles_a_second: float
    client_us: float
    server_us: float
    """Processor time of a cycle, on both sides."""


def main() -> None:
    with running(18, durable=True) as server:
        print(f"PostgreSQL 18 in {server.folder.parent}, synchronous_commit on")
        print(f"cycles (claim, submit, take, critique), medians of {RUNS} runs in turn")
        print("processes  board /s  floor /s  ratio   cpu us board       cpu us floor       ratio")
        for processes in PROCESSES:
            board, floor = compare(server, processes)
            ratio = board.cycles_a_second / floor.cycles_a_second
            cpu = (floor.client_us + floor.server_us) / (board.client_us + board.server_us)
            print(
                f"{processes:9}  {board.cycles_a_second:8.0f}  {floor.cycles_a_second:8.0f}  "
                f"{ratio:5.2f}  {board.client_us:7.0f} + {board.server_us:5.0f}    "
                f"{floor.client_us:7.0f} + {floor.server_us:5.0f}    {cpu:5.2f}",
                flush=True,
            )
        buffers(server)


def compare(server: PostgresServer, processes: int) -> tuple[Cost, Cost]:
    taken: dict[str, list[Cost]] = {"board": [], "floor": []}
    for _ in range(RUNS):
        for side, found in taken.items():
            found.append(once(server, side, processes))
    board, floor = (
        Cost(*(statistics.median(values) for values in zip(*found, strict=True)))
        for found in taken.values()
    )
    return board, floor


def once(server: PostgresServer, side: str, processes: int) -> Cost:
    """So many processes on a fresh board."""
    url = fresh_board(server, TASKS)
    command = [sys.executable, "-m", "benchmarks.postgres_side", side, url, str(AGENTS)]
    crew = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for child in crew:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    cpu, began = server_seconds(server), time.perf_counter()
    for child in crew:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate()[0].split() for child in crew]
    seconds = time.perf_counter() - began
    done = sum(int(one[0]) for one in said)
    assert done == TASKS, f"{done} cycles for {TASKS} tasks"
    client = sum(float(one[1]) for one in said)
    return Cost(done / seconds, client / done * 1e6, (server_seconds(server) - cpu) / done * 1e6)


def server_seconds(server: PostgresServer) -> float:
    """Processor time of the server, with that of all sessions that have ended."""
    time.sleep(0.3)
    pid = server.postmaster()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


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
