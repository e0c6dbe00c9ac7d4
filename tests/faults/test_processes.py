"""Four processes work off one board; one is killed, one stopped past its leases."""

from collections import Counter
from pathlib import Path

import pytest

from core.domain.events import EventType
from core.domain.task import TaskStatus
from core.invariants import check
from tests.faults.crew import (
    RULES,
    Figures,
    Site,
    Watch,
    completions,
    read_journals,
    run_crew,
    site_in,
    submissions,
)
from tests.support.engines import POSTGRES, SQLITE

pytestmark = pytest.mark.usefixtures("engine")


async def finish_everything_once(path: Path, seed: int, count: int, *, seconds: float) -> Figures:
    """Run the crew; nothing is lost, nothing completed twice, no promise broken."""
    async with site_in(path) as site:
        figures = await run_crew(site, seed, count, seconds=seconds)
        await nothing_was_lost_or_done_twice(site, count)
        return figures


async def nothing_was_lost_or_done_twice(site: Site, count: int) -> None:
    store, watch = site.store, Watch(site.store)
    await watch.look()
    async with store.read() as reader:
        tasks = {task.id: task for task in await reader.all_tasks()}
    once = dict.fromkeys(tasks, 1)
    settled = Counter(one.task for one in watch.events if one.type is EventType.TASK_SETTLED)

    assert len(tasks) == count
    assert {task.status for task in tasks.values()} == {TaskStatus.COMPLETED}
    assert completions(watch.events) == once
    assert settled == once
    what_the_workers_were_told_is_true(site, watch)
    violations = await check(store, RULES)
    assert violations == [], "\n".join(str(violation) for violation in violations)


def what_the_workers_were_told_is_true(site: Site, watch: Watch) -> None:
    """No claim was given twice; no work was taken, then lost, or taken under an ended claim."""
    told = read_journals(site.folder)
    claimed = Counter((task, fence) for what, task, fence in told if what == "claimed")
    submitted = {(task, fence) for what, task, fence in told if what == "submitted"}
    completed = Counter(task for what, task, _ in told if what == "completed")

    assert set(claimed.values()) == {1}
    assert set(completed.values()) == {1}
    assert submitted <= submissions(watch.events)


@pytest.mark.parametrize(
    ("engine", "seed"), [(SQLITE, 1), (SQLITE, 2), (POSTGRES, 1)], indirect=["engine"]
)
async def test_a_killed_and_a_stopped_process_lose_nothing_and_repeat_nothing(
    tmp_path: Path, seed: int
) -> None:
    figures = await finish_everything_once(tmp_path, seed, 400, seconds=60)

    print(f"\n{figures.line()}")
    assert figures.counts["attempts_lost"] >= 1, "no fault hit any work"


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(101, 111))
async def test_many_tasks_survive_a_kill_and_a_stop_of_their_processes(
    tmp_path: Path, seed: int
) -> None:
    figures = await finish_everything_once(tmp_path, seed, 2000, seconds=240)

    print(f"\n{figures.line()}")
    assert figures.counts["attempts_lost"] >= 1, "no fault hit any work"
