"""Plans: new tasks before they are on the board, and whether they can ever be finished."""

import graphlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from core.domain.complexity import guess_complexity
from core.domain.frozen import amend, evolve
from core.domain.limits import Limits
from core.domain.steps import at_once
from core.domain.task import PENDING, Complexity, Hint, Kind, Task, TaskId
from core.errors import BadPlan, RequestTooLarge


class NewTask(BaseModel):
    """A task to be added; `depends_on` names tasks of the board or keys of the same plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    description: str = ""
    kind: Kind = Kind.TASK
    type: str = "answer"
    code: bool = False
    key: str | None = None
    depends_on: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    planner_tags: tuple[str, ...] = ()
    complexity: Complexity | None = None
    auto_review: bool = False
    max_cycles: int | None = None
    hint: Hint = Hint.NONE


class Placing(NamedTuple):
    """Where on the board a new task goes."""

    id: TaskId
    parent: Task | None
    rank: str
    now: float


_BLANK = Task(id=TaskId(""), root=TaskId(""), title="")


def placed(new: NewTask, at: Placing, depends_on: Sequence[TaskId], limits: Limits) -> Task:
    """The task as the board keeps it; a milestone too deep to be planned becomes a task."""
    parent = at.parent
    depth = 0 if parent is None else parent.depth + 1
    deep = new.kind is Kind.MILESTONE and depth >= limits.plan_depth
    inherited = () if parent is None else parent.tags
    said = {
        "id": at.id,
        "kind": Kind.TASK if deep else new.kind,
        "parent": None if parent is None else parent.id,
        "root": at.id if parent is None else parent.root,
        "title": new.title,
        "description": new.description,
        "type": new.type,
        "code": new.code,
        "depends_on": tuple(depends_on),
        "tags": tuple(dict.fromkeys((*inherited, *new.tags))),
        "planner_tags": new.planner_tags,
        "complexity": new.complexity or guess_complexity(f"{new.title} {new.description}"),
        "auto_review": new.auto_review,
        "max_cycles": limits.max_cycles if new.max_cycles is None else new.max_cycles,
        "hint": new.hint if parent is None else max(new.hint, parent.hint, key=_says_more),
        "rank": at.rank,
        "depth": depth,
        "root_created": at.now if parent is None else parent.root_created,
        "created": at.now,
    }
    task = evolve(_BLANK, said)
    return amend(task, {"claimable": at_once(task, PENDING), "changed": (*said, "claimable")})


def _says_more(hint: Hint) -> bool:
    return hint is not Hint.NONE


def check_new(new: NewTask, limits: Limits) -> None:
    if not new.title.strip():
        raise BadPlan("a task needs a title; say in a few words what is to be done")
    size = len(new.title.encode()) + len(new.description.encode())
    if size > limits.request_bytes:
        raise RequestTooLarge(size, limits.request_bytes)
    if new.max_cycles is not None and not 1 <= new.max_cycles <= 10:
        raise BadPlan(f"max_cycles is {new.max_cycles} and must lie between 1 and 10")


def check_plan(plan: Sequence[NewTask], already: int, limits: Limits) -> None:
    """Refuse a plan that names no task, too many, or one of them badly."""
    if not any(new.kind in (Kind.TASK, Kind.MILESTONE) for new in plan):
        raise BadPlan("the plan names no task; give at least one")
    if len(plan) > limits.plan_tasks:
        raise BadPlan(f"the plan has {len(plan)} tasks and may have {limits.plan_tasks}")
    keys = Counter(new.key for new in plan if new.key is not None)
    if doubled := [key for key, times in keys.items() if times > 1]:
        raise BadPlan(f"several tasks of the plan have the key {min(doubled)!r}")
    check_children(plan, already, limits)


def check_children(plan: Sequence[NewTask], already: int, limits: Limits) -> None:
    """Refuse what can't be a part of a request, and more parts than one may have."""
    total = already + len(plan)
    if total > limits.request_tasks:
        raise BadPlan(f"the request would have {total} tasks and may have {limits.request_tasks}")
    for new in plan:
        if new.kind is Kind.REQUEST:
            raise BadPlan("a request can't be a part of another; use tasks and milestones")
        check_new(new, limits)


def resolved(
    new: NewTask, keys: Mapping[str, TaskId], family: Mapping[TaskId, Task]
) -> list[TaskId]:
    """The dependencies of a planned task as ids of its own request."""
    found = [keys.get(name, TaskId(name)) for name in new.depends_on]
    for name, task_id in zip(new.depends_on, found, strict=True):
        if task_id not in family:
            raise BadPlan(f"{new.title!r} depends on {name!r}, which is no task of this request")
        if family[task_id].kind is Kind.IDEA:
            raise BadPlan(f"{new.title!r} depends on {name!r}, which is only an idea")
    return list(dict.fromkeys(found))


def check_no_cycle(family: Iterable[Task]) -> None:
    """A task ends after its dependencies and children, and starts after its parent did."""
    graph: dict[str, set[str]] = {}
    for task in family:
        start, end = f"{task.id}<", f"{task.id}>"
        graph.setdefault(end, set()).add(start)
        graph.setdefault(start, set()).update(f"{one}>" for one in task.depends_on)
        if task.parent is not None:
            graph[start].add(f"{task.parent}<")
            graph.setdefault(f"{task.parent}>", set()).add(end)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        names = dict.fromkeys(node[:-1] for node in error.args[1])
        raise BadPlan(f"these tasks wait for each other: {', '.join(names)}") from error
