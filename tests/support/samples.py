"""Tasks, mail, critiques and events as a store keeps them; no rule has to agree with them."""

from collections.abc import Awaitable, Callable

from core.domain.agent import Role
from core.domain.critique import Critique, Opinion
from core.domain.events import EventType
from core.domain.feedback import Decision, Feedback, RedoOption
from core.domain.frozen import Model, evolve
from core.domain.message import MailStatus, Message, MessageKind, read_message
from core.domain.task import (
    AgentName,
    Complexity,
    Hint,
    Kind,
    Phase,
    Reason,
    Signal,
    Task,
    TaskId,
    TaskStatus,
    Usage,
    Verdict,
    hash_of,
    read_task,
)
from core.errors import SwarmError
from core.store.protocol import Answer, Store, Transaction

AnEvent = tuple[EventType, TaskId | None, TaskId | None, dict[str, object]]

ADA, BOB, EVE = AgentName("ada"), AgentName("bob"), AgentName("eve")


def a_task(task_id: str, **fields: object) -> Task:
    """A root task, ready to be worked on, unless said otherwise."""
    values = {"id": task_id, "root": task_id, "title": task_id, "claimable": Phase.WORK, **fields}
    return read_task(values)


def a_child(task_id: str, parent: str, rank: str = "", **fields: object) -> Task:
    return a_task(task_id, **{"parent": parent, "root": parent, "rank": rank, **fields})


def evolved(model: Model, **changes: object) -> Model:
    """A copy with these fields changed."""
    return evolve(model, changes)


def later(task: Task, **changes: object) -> Task:
    """The next version of a task."""
    return evolved(task, **changes, version=task.version + 1)


def put(tx: Transaction, task: Task, **changes: object) -> Task:
    """Put the next version of a task that was read in this step."""
    after = later(task, **changes)
    tx.put_task(after, (*changes, "version"))
    return after


def a_note(body: str = "hello", **fields: object) -> Message:
    values = {"kind": MessageKind.NOTE, "to_role": Role.ADVISOR, "body": body, **fields}
    return read_message(values)


def a_critique(comment: str = "seen", *, mail: int = 1) -> Critique:
    return Critique(
        reviewer="eve",
        opinion=Opinion.REJECTED,
        suggestions=("name the source", "be brief"),
        comment=comment,
        ts=12.5,
        result_hash="cafe",
        cycle=2,
        mail=mail,
        late=True,
    )


def a_feedback(text: str = "again") -> Feedback:
    return Feedback(
        iteration=3,
        ts=13.5,
        decision=Decision.REDO,
        quick_issues=("Tests incomplete",),
        text=text,
        option=RedoOption.FRESH,
        hint="next",
    )


def an_answer(task_id: str, version: int, text: str = "so it is") -> Answer:
    return Answer(
        task=TaskId(task_id),
        version=version,
        hash=hash_of(text),
        partial=True,
        ts=14.5,
        text=text,
    )


def an_event(text: str = "", task_id: str | None = None) -> AnEvent:
    name = None if task_id is None else TaskId(task_id)
    return EventType.TASK_FAILED, name, name, {"text": text}


FULL_TASK = Task(
    id=TaskId("full"),
    kind=Kind.MILESTONE,
    parent=TaskId("above"),
    root=TaskId("top"),
    title="a title",
    description="many\nlines, ünïcode ✓ 🐝, 'quotes' and \"more\", a \x00 and a %_|",
    type="implement",
    code=True,
    depends_on=(TaskId("one"), TaskId("two")),
    tags=("review:auto", "docs"),
    planner_tags=("security",),
    complexity=Complexity.COMPLEX,
    auto_review=True,
    max_cycles=7,
    status=TaskStatus.BLOCKED,
    reason=Reason.DEPENDENCY,
    came_from=TaskStatus.WAITING,
    claimable=Phase.CLOSE_OUT,
    phase=Phase.FIX,
    holder="a/b/c/1/2",
    agent=ADA,
    fence=4,
    lease_until=1_000_060.125,
    claimed_at=1_000_000.5,
    cancel_wanted=True,
    round=2,
    attempts=1,
    iterations=9,
    round_iterations=5,
    result="the result",
    result_hash="beef",
    result_round=2,
    inputs={TaskId("one"): "h1", TaskId("two"): ""},
    executor=BOB,
    signal=Signal.NEEDS_HUMAN,
    message="which one?",
    quality_passed=False,
    usage=Usage(input_tokens=10, output_tokens=20, cost_usd=0.125),
    critique=a_critique(),
    critique_round=3,
    review_mail=17,
    worked_on_by=(ADA, BOB),
    waited_idle_seconds=33.25,
    watched_at=1_000_001.5,
    verdict=Verdict.CHANGES_REQUESTED,
    needs_attention=True,
    auto_approved=True,
    merged=True,
    conflicts=2,
    feedback=a_feedback(),
    answered="fingerprint",
    answered_as=TaskStatus.FAILED,
    accepted="feed",
    answers=2,
    partial_answered=True,
    hint=Hint.LATER,
    rank="00001.00002.",
    depth=2,
    root_created=999_999.5,
    created=999_999.75,
    started=1_000_000.25,
    completed_at=1_000_002.5,
    version=6,
)

FULL_MAIL = Message(
    number=5,
    kind=MessageKind.CRITIQUE_REQUEST,
    to_agent=EVE,
    to_role=Role.ADVISOR,
    not_for=(ADA, BOB),
    sender=ADA,
    task=TaskId("full"),
    root=TaskId("top"),
    result_hash="beef",
    cycle=2,
    body="look, ünïcode ✓",
    created=1_000_003.5,
    status=MailStatus.TAKEN,
    holder="a/b/c/1/2",
    agent=EVE,
    fence=3,
    lease_until=1_000_063.5,
    tries=2,
)


async def put_on(store: Store, *tasks: Task) -> None:
    """Add these tasks, in one step."""
    async with store.transaction() as tx:
        for task in tasks:
            tx.add_task(task)


async def change(store: Store, task_id: str, **changes: object) -> Task:
    """One step that changes a task."""
    async with store.transaction() as tx:
        return put(tx, await tx.task(TaskId(task_id)), **changes)


async def seen(store: Store, task_id: str) -> Task:
    """A task as a reader sees it now."""
    async with store.read() as reader:
        return await reader.task(TaskId(task_id))


async def has(store: Store, task_id: str) -> bool:
    async with store.read() as reader:
        return await reader.has_task(TaskId(task_id))


async def told(store: Store) -> list[int]:
    """The numbers of all events."""
    async with store.read() as reader:
        return [event.seq for event in await reader.events(0, 100_000)]


class Refused(SwarmError):
    """What a step raises that does not want to be kept."""


def adding(store: Store, task_id: str) -> Callable[[], Awaitable[None]]:
    """A step that adds a task, tells of it and rings for it."""

    async def add() -> None:
        async with store.transaction() as tx:
            tx.add_task(a_task(task_id))
            tx.tell(*an_event("added", task_id))
            tx.ring(f"added {task_id}")

    return add
