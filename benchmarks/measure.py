"""Measures in processes of their own: processor time, wall time and memory of one run."""

import gc
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchmarks import board, floor
from benchmarks.story import Story

SCRATCH = Path(__file__).parent / ".scratch"


@dataclass(frozen=True)
class Cost:
    """Of one task."""

    cpu_us: float
    wall_us: float
    peak_mib: float


def once(side: str, synchronous: str, tasks: int, agents: int) -> Cost:
    """One run of one side in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.measure", side, synchronous]
    done = subprocess.run(
        [*command, str(tasks), str(agents)], check=True, capture_output=True, text=True
    )
    return Cost(*(float(part) for part in done.stdout.split()))


def middle(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.cpu_us for cost in costs),
        statistics.median(cost.wall_us for cost in costs),
        statistics.median(cost.peak_mib for cost in costs),
    )


def like_the_command() -> None:
    """Tune the collector as the command's main does; the library leaves it alone."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def main(side: str, synchronous: str, tasks: int, agents: int) -> None:
    story = Story(tasks, agents)
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        warm_up(Path(folder), side, synchronous)
        like_the_command()
        cpu, wall = time.process_time(), time.perf_counter()
        if side == "floor":
            floor.run(Path(folder), synchronous, story)
        else:
            anyio.run(board.run, Path(folder), synchronous, story)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(cpu / tasks * 1e6, wall / tasks * 1e6, peak)


def warm_up(folder: Path, side: str, synchronous: str) -> None:
    """What happens once in a process (imports, schemas, statements) is not the board's speed."""
    with tempfile.TemporaryDirectory(dir=folder) as warm:
        if side == "floor":
            floor.run(Path(warm), synchronous, Story(20))
        else:
            anyio.run(board.run, Path(warm), synchronous, Story(20))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
