"""A process dies at any commit of a story: the store is whole, and others finish the story."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.domain.critique import advice
from core.domain.events import Event, EventType, TaskFact
from core.domain.message import MailStatus
from core.domain.reports import Work
from core.domain.task import Kind, Phase, TaskId, TaskStatus
from core.flows.recovery import recover
from core.invariants import check
from core.mailbox import Mailbox
from core.store.sqlite import SqliteStore
from core.task_board import TaskBoard
from tests.faults.children import ENVIRONMENT, ROOT
from tests.faults.story import SYNCHRONOUS, TITLE, plan_of
from tests.support.board import ADA, AUTO, BOB, CREW, EVE, MERGER, PAT, some

MOST_STEPS = 200
FEWEST_COMMITS = 50
Happening = tuple[EventType, TaskId | None, TaskStatus | None]


@dataclass(frozen=True)
class Told:
    """The stores that the story left: one for each commit its process died at, and a whole one."""

    folder: Path
    kept: list[int]
    """Events in the store after each commit."""

    def store_of(self, commit: int) -> Path:
        return self.folder / str(commit) / "swarm.db"


@pytest.fixture(params=["before", "after"])
def side(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def told(tmp_path: Path, side: str) -> Told:
    command = [sys.executable, "-m", "tests.faults.story", str(tmp_path), side]
    subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, timeout=120)
    return Told(tmp_path, json.loads((tmp_path / "whole" / "commits.json").read_text()))


async def test_the_story_can_be_finished_after_a_death_at_any_commit(told: Told, side: str) -> None:
    whole = await events_in(told.folder / "whole" / "swarm.db")
    assert len(told.kept) >= FEWEST_COMMITS

    for commit in range(1, len(told.kept) + 1):
        kept = [0, *told.kept][commit if side == "after" else commit - 1]
        await finished_after_a_death(told.store_of(commit), whole[:kept])


async def finished_after_a_death(path: Path, kept: list[Happening]) -> None:
    """Exactly the commits before the death are there, and from there it goes on to the end."""
    store = await SqliteStore.open(path, synchronous=SYNCHRONOUS)
    try:
        board, mailbox = TaskBoard(store, AUTO), Mailbox(store, AUTO.limits)
        assert [what_happened(one) for one in await board.events(0)] == kept, path
        await no_promise_is_broken(store)

        await take_back_what_the_dead_held(board, mailbox, store)
        await finish(board, mailbox, store)

        await no_promise_is_broken(store)
        async with store.read() as reader:
            tasks = [one for one in await reader.all_tasks() if one.kind is not Kind.IDEA]
        assert {task.status for task in tasks} == {TaskStatus.COMPLETED}, path
        assert [task.title for task in tasks if task.kind is Kind.REQUEST] == [TITLE], path
        assert completed_twice(await board.events(0)) == [], path
    finally:
        await store.close()


async def take_back_what_the_dead_held(
    board: TaskBoard, mailbox: Mailbox, store: SqliteStore
) -> None:
    """Its leases still run, yet all of it is free at once, and costs one attempt each."""
    async with store.read() as reader:
        held = {task.id: task.attempts for task in await reader.held()}
        taken = [mail.number for mail in await reader.messages(MailStatus.TAKEN)]

    letters, tasks = await recover(board, mailbox, CREW)

    assert {task.id: task.attempts - 1 for task in tasks} == held
    assert [mail.number for mail in letters] == taken
    async with store.read() as reader:
        assert await reader.held() == []


async def finish(board: TaskBoard, mailbox: Mailbox, store: SqliteStore) -> None:
    """Do whatever can be done until nothing is left to do."""
    async with store.read() as reader:
        asked = bool(await reader.all_tasks())
    if not asked:
        await board.add_request(TITLE)
    for _ in range(MOST_STEPS):
        if not (
            await advised(board, mailbox) or await worked(board) or await decided(board, store)
        ):
            return
    pytest.fail(f"not finished after {MOST_STEPS} steps")


async def advised(board: TaskBoard, mailbox: Mailbox) -> bool:
    mail = await mailbox.receive(EVE)
    if mail is None:
        return False
    await board.add_critique(mail, advice(passed=True))
    return True


async def worked(board: TaskBoard) -> bool:
    claim = (
        await board.claim_critique(ADA)
        or await board.claim_critique(BOB)
        or await board.claim_next(ADA)
        or await board.claim_next(PAT)
        or await board.claim_close_out(PAT)
        or await board.claim_merge(MERGER)
    )
    match claim and claim.phase:
        case Phase.PLAN:
            await board.decompose(some(claim), plan_of(some(claim).task))
        case Phase.CLOSE_OUT:
            await board.close_out(some(claim), "the answer")
        case Phase.MERGE:
            await board.merged(some(claim))
        case Phase.WORK | Phase.FIX:
            await board.submit(some(claim), Work(result="done by another"))
    return claim is not None


async def decided(board: TaskBoard, store: SqliteStore) -> bool:
    """What a person does with all that waits for one."""
    async with store.read() as reader:
        tasks = await reader.all_tasks()
    finished = [task.id for task in tasks if task.status is TaskStatus.HUMAN_REVIEW]
    aside = [task.id for task in tasks if task.status in (TaskStatus.DEFERRED, TaskStatus.BLOCKED)]
    for task_id in finished:
        await board.people.approve(task_id)
    for task_id in aside:
        await board.people.reopen(task_id, "go on")
    return bool(finished or aside)


async def events_in(path: Path) -> list[Happening]:
    store = await SqliteStore.open(path)
    try:
        return [what_happened(one) for one in await TaskBoard(store).events(0)]
    finally:
        await store.close()


def what_happened(event: Event) -> Happening:
    status = event.data.status if isinstance(event.data, TaskFact) else None
    return event.type, event.task, status


async def no_promise_is_broken(store: SqliteStore) -> None:
    violations = await check(store, AUTO)
    assert violations == [], "\n".join(str(one) for one in (store.path, *violations))


def completed_twice(events: list[Event]) -> list[tuple[TaskId, int]]:
    """Tasks that were completed more than once in one round of work."""
    containers: set[TaskId] = set()
    rounds: dict[TaskId, int] = {}
    completed: Counter[tuple[TaskId, int]] = Counter()
    for event in events:
        fact = event.data
        if event.task is None or not isinstance(fact, TaskFact):
            continue
        if fact.kind in (Kind.REQUEST, Kind.MILESTONE):
            containers.add(event.task)
        rounds[event.task] = fact.round or rounds[event.task]
        if fact.status is TaskStatus.COMPLETED and event.type is not EventType.TASK_SETTLED:
            completed[event.task, rounds[event.task]] += 1
    return [one for one, times in completed.items() if times > 1 and one[0] not in containers]
