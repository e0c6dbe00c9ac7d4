"""A crew of worker processes on one board, what is done to them, and what is left afterwards."""

import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from core.domain.events import Event, EventType, TaskFact
from core.domain.plan import NewTask
from core.domain.task import Complexity, TaskId, TaskStatus
from core.process import ProcessId
from core.store import open_store
from core.store.protocol import Store
from core.task_board import TaskBoard
from tests.faults.children import Child, started, until
from tests.faults.worker import short_leases
from tests.support.engines import address_in

PROCESSES = 4
LEASE_SECONDS = 1.0
STOPPED_SECONDS = LEASE_SECONDS * 1.25
"""Past every lease of the stopped process, and well within the time others wait for the lock."""
DEPENDENT = 0.1
COMPLEXITIES = (Complexity.SIMPLE, Complexity.NORMAL, Complexity.COMPLEX)
RULES = short_leases(LEASE_SECONDS)


@dataclass
class Figures:
    """What a run cost and what the faults did to it."""

    seed: int
    tasks: int
    seconds: float = 0.0
    killed_at: int = 0
    stopped_at: int = 0
    stopped_with_lock: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        counts = " ".join(f"{name}={number}" for name, number in sorted(self.counts.items()))
        return (
            f"seed {self.seed}: {self.tasks} tasks in {self.seconds:.1f} s, "
            f"killed at {self.killed_at}, stopped at {self.stopped_at}"
            f"{' with the lock' if self.stopped_with_lock else ''}; {counts}"
        )


@dataclass(frozen=True)
class Site:
    """One board, as this process sees it, and where others find it."""

    store: Store
    address: str
    folder: Path
    """Where the workers keep their journals."""


@asynccontextmanager
async def site_in(folder: Path, address: str | None = None) -> AsyncIterator[Site]:
    address = address or address_in(folder)
    store = await open_store(address)
    try:
        yield Site(store, address, folder)
    finally:
        await store.close()


class Watch:
    """Follows the events of the store from outside the crew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._board = TaskBoard(store, RULES)
        self.events: list[Event] = []

    async def look(self) -> None:
        while news := await self._board.events(self.events[-1].seq if self.events else 0):
            self.events += news

    async def completed(self) -> int:
        await self.look()
        return completions(self.events).total()

    async def holds_a_claim(self, child: Child) -> bool:
        async with self._store.read() as reader:
            holders = [ProcessId.parse(task.holder or "") for task in await reader.held()]
        return any(holder is not None and holder.pid == child.pid for holder in holders)


def completions(events: Sequence[Event]) -> Counter[TaskId]:
    """How often each task came to be completed; that it settled is told once more, by itself."""
    return Counter(
        event.task
        for event in events
        if event.task is not None
        and isinstance(event.data, TaskFact)
        and event.data.status is TaskStatus.COMPLETED
        and event.type is not EventType.TASK_SETTLED
    )


def submissions(events: Sequence[Event]) -> set[tuple[TaskId, int]]:
    """Each task that was handed in, with the fence of its claim: the end of a claim is one more."""
    return {
        (event.task, event.data.fence - 1)
        for event in events
        if event.type is EventType.TASK_SUBMITTED
        and event.task is not None
        and isinstance(event.data, TaskFact)
        and event.data.fence is not None
    }


async def fill(store: Store, count: int, chance: Random) -> list[TaskId]:
    """Single tasks of all complexities, some of which wait for an earlier one."""
    board = TaskBoard(store, RULES, chance=chance)
    added: list[TaskId] = []
    for number in range(count):
        waits = bool(added) and chance.random() < DEPENDENT
        new = NewTask(
            title=f"task {number}",
            complexity=chance.choice(COMPLEXITIES),
            depends_on=(chance.choice(added),) if waits else (),
        )
        added.append((await board.add(new)).id)
    return added


async def run_crew(site: Site, seed: int, count: int, *, seconds: float) -> Figures:
    """Have a crew work off the board while one of it is killed and another one stopped."""
    chance = Random(seed)
    tasks = await fill(site.store, count, chance)
    figures = Figures(seed, len(tasks))
    watch = Watch(site.store)
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        crew = [
            await stack.enter_async_context(worker(site, f"p{number}", seed))
            for number in range(PROCESSES)
        ]
        victims = chance.sample(crew, 2)
        moments = sorted(chance.sample(range(count // 10, count * 3 // 4), 2))
        faults = [_kill, _stop]
        chance.shuffle(faults)
        for moment, fault, victim in zip(moments, faults, victims, strict=True):
            await _catch(watch, moment, victim, seconds=seconds)
            await fault(watch, victim, figures)
        killed = victims[faults.index(_kill)]
        for child in crew:
            expected = -signal.SIGKILL if child is killed else 0
            assert await child.ended(seconds) == expected, "a worker ended otherwise"
    figures.seconds = time.monotonic() - began
    await watch.look()
    figures.counts = _told(watch.events) + _witnessed(read_journals(site.folder))
    return figures


async def _catch(watch: Watch, moment: int, victim: Child, *, seconds: float) -> None:
    """Wait until so many tasks are completed, then stop the victim with work in its hands."""

    async def caught() -> bool:
        assert victim.lives, "a worker ended before its time"
        if await watch.completed() < moment:
            return False
        await victim.stop()
        if await watch.holds_a_claim(victim):
            return True
        victim.send(signal.SIGCONT)
        return False

    await until(caught, seconds=seconds)


async def _kill(watch: Watch, victim: Child, figures: Figures) -> None:
    figures.killed_at = await watch.completed()
    await victim.kill()


async def _stop(watch: Watch, victim: Child, figures: Figures) -> None:
    """Stand still until past its leases, perhaps with the lock of the store in its hands."""
    figures.stopped_at = await watch.completed()
    stopped, written = time.monotonic(), len(watch.events)

    async def over() -> bool:
        return time.monotonic() >= stopped + STOPPED_SECONDS

    await until(over, seconds=STOPPED_SECONDS * 4)
    await watch.look()
    figures.stopped_with_lock = len(watch.events) == written
    victim.send(signal.SIGCONT)


def worker(site: Site, name: str, seed: int) -> AbstractAsyncContextManager[Child]:
    """One process of the crew."""
    journal = site.folder / f"{name}.journal"
    return started("tests.faults.worker", site.address, journal, name, seed, LEASE_SECONDS)


def read_journals(folder: Path) -> list[tuple[str, TaskId, int]]:
    """What the workers were told, each line written right after the call returned."""
    lines = [
        line.split()
        for journal in sorted(folder.glob("*.journal"))
        for line in journal.read_text().splitlines()
    ]
    return [(what, TaskId(task), int(number)) for what, task, number in lines]


def _told(events: Sequence[Event]) -> Counter[str]:
    wanted = {
        EventType.TASK_CLAIMED: "claims",
        EventType.TASK_LET_GO: "attempts_lost",
        EventType.CRITIQUE_CAME_LATE: "late_critiques",
        EventType.MAIL_RETURNED: "mail_returned",
    }
    return Counter(wanted[event.type] for event in events if event.type in wanted)


def _witnessed(lines: Sequence[tuple[str, TaskId, int]]) -> Counter[str]:
    names = {"lost": "claims_found_lost", "unheard": "mail_found_lost"}
    return Counter(names[what] for what, _, _ in set(lines) if what in names)
