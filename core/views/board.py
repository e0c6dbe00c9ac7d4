"""The board at one moment: what is open, who is at it, and what needs a person."""

from collections import defaultdict
from collections.abc import Iterable

from core.domain.outcome import needs_a_person
from core.domain.steps import Place, place_of
from core.domain.task import COMPLETED, FAILED, Kind, Reason, Task, TaskId, TaskStatus
from core.store.protocol import Store
from core.views.view import View
from core.views.wording import VERDICTS, doing, why


class TaskLine(View):
    """A task as one line of a list, with those below it."""

    id: TaskId
    title: str
    kind: Kind
    status: TaskStatus
    reason: Reason | None
    doing: str
    why: str
    agent: str | None
    elapsed_seconds: float | None
    """Of the claim while somebody holds it; of all its work once it is done."""
    settled: bool
    needs_attention: bool
    depends_on: tuple[TaskId, ...]
    below: tuple["TaskLine", ...] = ()


class Need(View):
    """Something for a person, and what they can type."""

    task: TaskId
    request: TaskId
    title: str
    doing: str
    why: str
    commands: tuple[str, ...]


class BoardView(View):
    now: float
    needs_you: tuple[Need, ...]
    failed: tuple[Need, ...]
    worth_a_look: tuple[Need, ...]
    """Finished, but not as it should be; nothing waits for it."""
    counts: dict[TaskStatus, int]
    """Of tasks, without the requests and milestones above them."""
    open_requests: int
    finished_requests: int
    requests: tuple[TaskLine, ...]


def commands(task: Task) -> tuple[str, ...]:
    """What a person can type where this task waits for them; the likeliest first."""
    ways: tuple[str, ...]
    match place_of(task):
        case Place.HUMAN_REVIEW:
            ways = ("approve {}", 'redo {} -m "…"', 'reject {} -m "…"')
        case Place.BLOCKED_QUESTION | Place.BLOCKED_REJECTED:
            ways = ('answer {} "…"', "cancel {}")
        case Place.DEFERRED:
            ways = ("answer {}", "cancel {}")
        case Place.BLOCKED_BUDGET:
            ways = ("retry {} --budget-tokens …", "cancel {}")
        case Place.FAILED | Place.NOTHING_COMPLETED:
            ways = ("retry {}", "cancel {}")
        case Place.COMPLETED if task.needs_attention:
            ways = ("approve {}", 'redo {} -m "…"')
        case _:
            ways = ()
    return tuple(f"swarm {way.format(task.id)}" for way in ways)


async def board(store: Store, *, finished: bool = False) -> BoardView:
    """What is open on the board; with `finished`, what is settled too."""
    async with store.read() as reader:
        tasks, now = await reader.all_tasks(), reader.now
    roots = [task for task in tasks if task.parent is None and task.kind is not Kind.IDEA]
    shown = [root for root in roots if finished or _is_open(root)]
    open_roots = {root.id for root in roots if _is_open(root)}
    leaves = [task for task in tasks if task.kind is Kind.TASK]
    return BoardView(
        now=now,
        needs_you=_needs(task for task in tasks if needs_a_person(task)),
        failed=_needs(task for task in tasks if _failed(task, open_roots)),
        worth_a_look=_needs(
            task for task in tasks if task.needs_attention and task.status is COMPLETED
        ),
        counts=_counted(leaves),
        open_requests=len(open_roots),
        finished_requests=len(roots) - len(open_roots),
        requests=lines_of(shown, tasks, now),
    )


def _is_open(root: Task) -> bool:
    return not root.settled


def _failed(task: Task, open_roots: set[TaskId]) -> bool:
    """A failed request, or a failed task of an open one; a closed answer names its own."""
    return task.status is FAILED and (task.parent is None or task.root in open_roots)


def _counted(tasks: Iterable[Task]) -> dict[TaskStatus, int]:
    counts: dict[TaskStatus, int] = defaultdict(int)
    for task in tasks:
        counts[task.status] += 1
    return {status: counts[status] for status in TaskStatus if counts[status]}


def _needs(wanted: Iterable[Task]) -> tuple[Need, ...]:
    return tuple(
        Need(
            task=task.id,
            request=task.root,
            title=task.title,
            doing=doing(task),
            why=why(task) or (VERDICTS[task.verdict] if task.verdict else ""),
            commands=commands(task),
        )
        for task in wanted
    )


def lines_of(roots: Iterable[Task], tasks: Iterable[Task], now: float) -> tuple[TaskLine, ...]:
    below: dict[TaskId, list[Task]] = defaultdict(list)
    for task in tasks:
        if task.parent is not None:
            below[task.parent].append(task)

    def line(task: Task) -> TaskLine:
        return line_of(task, now, tuple(line(child) for child in below[task.id]))

    return tuple(line(root) for root in roots)


def line_of(task: Task, now: float, below: tuple[TaskLine, ...] = ()) -> TaskLine:
    return TaskLine(
        id=task.id,
        title=task.title,
        kind=task.kind,
        status=task.status,
        reason=task.reason,
        doing=doing(task),
        why=why(task),
        agent=task.agent,
        elapsed_seconds=elapsed(task, now),
        settled=task.settled,
        needs_attention=task.needs_attention,
        depends_on=task.depends_on,
        below=below,
    )


def elapsed(task: Task, now: float) -> float | None:
    if task.holder is not None and task.claimed_at is not None:
        return max(now - task.claimed_at, 0.0)
    if task.started is None:
        return None
    return max((task.completed_at or now) - task.started, 0.0)


EMPTY_BOARD = BoardView(
    now=0.0,
    needs_you=(),
    failed=(),
    worth_a_look=(),
    counts={},
    open_requests=0,
    finished_requests=0,
    requests=(),
)
