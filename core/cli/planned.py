"""A plan before it is worked on: its tasks as a tree, and how many calls they will take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.cli.plain import one_line
from core.domain.rules import Rules
from core.domain.task import PLAN, Complexity, Kind, Task, TaskId

TITLE_WIDTH, NARROWEST_TITLE = 70, 12


@dataclass(frozen=True)
class Estimate:
    """Calls to a model, at least and at most; what can't be known yet makes the end open."""

    least: int
    most: int
    open_end: bool = False

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.least + other.least, self.most + other.most, self.open_end or other.open_end
        )

    def __str__(self) -> str:
        if self.open_end:
            return f"{self.least} or more calls"
        if self.least == self.most:
            return f"{self.least} call{'' if self.least == 1 else 's'}"
        return f"{self.least}–{self.most} calls"


def estimated(task: Task, rules: Rules) -> Estimate:
    """One working pass, and where advice is due one critique, up to the cycles allowed."""
    if task.kind is Kind.MILESTONE:
        return Estimate(2, 2, open_end=True)
    if not rules.review.advice:
        return Estimate(1, 1)
    if task.auto_review or task.complexity is Complexity.COMPLEX:
        return Estimate(2, 2 * task.max_cycles)
    return Estimate(1, 1) if task.complexity is Complexity.SIMPLE else Estimate(2, 3)


def whole_estimate(family: Sequence[Task], rules: Rules) -> Estimate:
    """Of a planned request; writing the answer takes a call where there is more than one part."""
    tasks = [task for task in family[1:] if task.kind is not Kind.IDEA]
    planned = {task.parent for task in tasks}
    total = Estimate(0, 0)
    for task in tasks:
        if task.id not in planned:
            total = total + estimated(task, rules)
    for parent in planned:
        several = sum(task.parent == parent for task in tasks) > 1
        total = total + Estimate(int(several), int(several))
    return total


def plan_lines(family: Sequence[Task], rules: Rules, cost: object, width: int = 0) -> list[str]:
    """With a width, titles are cut so that each line fits."""
    tasks = [task for task in family if task.kind is not Kind.IDEA]
    lines = [f"{one_line(family[0].title, TITLE_WIDTH)} ({family[0].id})"]
    numbers = {task.id: number for number, task in enumerate(tasks[1:], 1)}

    def walk(parent: TaskId, indent: str) -> None:
        children = [task for task in tasks if task.parent == parent]
        for child in children:
            last = child is children[-1]
            guide = f"{indent}{'└─ ' if last else '├─ '}"
            details = _details(child, numbers, rules)
            room = max(width - len(guide) - len(details) - 1, NARROWEST_TITLE) if width else 0
            title = one_line(f"{numbers[child.id]}. {child.title}", room or TITLE_WIDTH)
            lines.append(f"{guide}{title} {details}")
            walk(child.id, f"{indent}{'   ' if last else '│  '}")

    walk(family[0].id, "")
    lines.append(f"estimate: {cost}")
    return lines


def _details(task: Task, numbers: dict[TaskId, int], rules: Rules) -> str:
    how = "milestone" if task.kind is Kind.MILESTONE else task.complexity.value
    after = ", ".join(str(numbers[one]) for one in task.depends_on if one in numbers)
    needs = f", after {after}" if after else ""
    return f"({how}, {estimated(task, rules)}{needs})"


def plan_as_data(family: Sequence[Task], rules: Rules) -> dict[str, Any]:
    """For `--json`."""
    tasks = [
        {
            "id": task.id,
            "title": task.title,
            "kind": task.kind.value,
            "parent": task.parent,
            "complexity": task.complexity.value,
            "depends_on": list(task.depends_on),
            "calls": _range(estimated(task, rules)),
        }
        for task in family[1:]
        if task.kind is not Kind.IDEA
    ]
    return {"tasks": tasks, "calls": _range(whole_estimate(family, rules))}


def _range(calls: Estimate) -> list[int | None]:
    return [calls.least, None if calls.open_end else calls.most]


def all_planned(family: Sequence[Task]) -> bool:
    """Nothing is left for a planner before the tasks are worked on."""
    return not any(PLAN in (task.claimable, task.phase) for task in family)
