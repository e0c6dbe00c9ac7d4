"""`python -m benchmarks`: the board against bare sqlite3, the crew against plain asyncio, and
the board on PostgreSQL against a bare SKIP LOCKED loop.

python -m benchmarks           all of it, some minutes
python -m benchmarks quick     without the board of 100,000 tasks
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.floor import fsync_milliseconds
from benchmarks.measure import SCRATCH, Cost, middle, once

RUNS = {200: 7, 1000: 7, 5000: 3}
AGENTS = 50
MANY, FEW = 100_000, 5_000


def main() -> None:
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        print(f"one write and fsync on this disk: {fsync_milliseconds(Path(folder)):.2f} ms")
    print(f"the board ({AGENTS} agents) against bare sqlite3, medians of runs in turn\n")
    print("synchronous  tasks   cpu ratio   wall ratio   board cpu   floor cpu (us a task)")
    for synchronous in ("NORMAL", "FULL"):
        for tasks, runs in RUNS.items():
            compare(synchronous, tasks, runs)
    print()
    for latency in ("0", "0.2"):
        for count in ("20", "200", "1000"):
            subprocess.run([sys.executable, "-m", "benchmarks.crew", count, latency], check=True)
    if "quick" not in sys.argv:
        many()
        print()
        subprocess.run([sys.executable, "-m", "benchmarks.postgres"], check=True)


def compare(synchronous: str, tasks: int, runs: int) -> None:
    floors: list[Cost] = []
    boards: list[Cost] = []
    for _ in range(runs):
        floors.append(once("floor", synchronous, tasks, AGENTS))
        boards.append(once("board", synchronous, tasks, AGENTS))
    floor, board = middle(floors), middle(boards)
    cpu, wall = board.cpu_us / floor.cpu_us, board.wall_us / floor.wall_us
    print(
        f"{synchronous:11}  {tasks:5}   {cpu:9.2f}   {wall:10.2f}   "
        f"{board.cpu_us:9.0f}   {floor.cpu_us:9.0f}"
    )


def many() -> None:
    few_cpu, _, _, _ = _many(FEW)
    cpu, peak, full, empty = _many(MANY)
    print(f"\n{MANY:,} tasks: cpu a task {cpu / few_cpu:.2f} of that at {FEW:,}; {peak:.0f} MiB")
    print(f"a claim with {MANY:,} finished tasks: {full / empty:.2f} of one on an empty board")


def _many(tasks: int) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.many", str(tasks)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(part) for part in done.stdout.split()]


if __name__ == "__main__":
    main()
