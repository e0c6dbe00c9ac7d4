"""Draws families of tasks as lines of a tree, cut to a width and a number of rows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from rich.text import Text

from core.cli.lines import suggestions
from core.cli.plain import one_line
from core.domain.critique import Opinion
from core.domain.outcome import needs_a_person
from core.domain.task import BLOCKED, COMPLETED, FAILED, WAITING, Kind, Task, TaskId
from core.views.board import elapsed
from core.views.wording import doing, opinion

DOING_WIDTH, AGENT_WIDTH, TIME_WIDTH = 18, 11, 6
NARROWEST_TITLE = 12
WIDE = 80
WRITTEN_SHOWN = 200
"""Of what is being written so much is looked at; one line of it is shown."""


class _Row(NamedTuple):
    task: Task
    guide: str
    """The lines of the tree before its title."""
    below: str
    """The same for what stands below it."""
    progress: str
    """How far its tasks are, where it has some."""
    note: str | None
    """Below it: what is being written, else what the advisor said."""
    writing: bool


def tree_lines(
    families: Iterable[Sequence[Task]],
    now: float,
    width: int,
    rows: int | None = None,
    written: Mapping[TaskId, str] = MappingProxyType({}),
) -> list[Text]:
    """One line a task, and one for its words or its advice; finished ones give way to the rest."""
    found = [row for family in families for row in _rows(family, written)]
    shown, hidden = _fitting(found, rows)
    lines = [line for row in shown for line in _lines(row, now, width)]
    if hidden:
        lines.append(Text(f"… and {hidden} more", style="dim"))
    return lines


def _fitting(found: list[_Row], rows: int | None) -> tuple[list[_Row], int]:
    if rows is None or sum(map(_height, found)) <= rows:
        return found, 0
    left = rows - 1
    kept: set[TaskId] = set()
    for row in sorted(found, key=_matters):
        if _height(row) > left:
            break
        left -= _height(row)
        kept.add(row.task.id)
    return [row for row in found if row.task.id in kept], len(found) - len(kept)


def _matters(row: _Row) -> int:
    """Requests first, then what moves or needs somebody, then what waits, then what is over."""
    task = row.task
    if task.parent is None:
        return 1 if task.settled else 0
    if task.holder is not None or needs_a_person(task):
        return 0
    return 3 if task.settled else 2


def _height(row: _Row) -> int:
    return 1 if row.note is None else 2


def _rows(family: Sequence[Task], written: Mapping[TaskId, str]) -> list[_Row]:
    below: dict[TaskId | None, list[Task]] = defaultdict(list)
    for task in family:
        if task.kind is not Kind.IDEA:
            below[task.parent].append(task)

    def walk(task: Task, guide: str, indent: str) -> list[_Row]:
        children = below[task.id]
        done = sum(child.status is COMPLETED for child in children)
        count = f"{done} of {len(children)} done" if children else ""
        writing = bool(written.get(task.id, "").strip())
        note = one_line(written[task.id][-WRITTEN_SHOWN:]) if writing else _advice(task)
        below_it = f"{indent}│  " if children else f"{indent}   "
        rows = [_Row(task, guide, below_it, count, note, writing)]
        for child in children:
            last = child is children[-1]
            rows += walk(
                child, f"{indent}{'└─ ' if last else '├─ '}", f"{indent}{'   ' if last else '│  '}"
            )
        return rows

    return walk(family[0], "", "") if family else []


def _lines(row: _Row, now: float, width: int) -> list[Text]:
    task = row.task
    seconds = elapsed(task, now)
    said = row.progress if task.status is WAITING and row.progress else doing(task)
    over = task.holder is None and task.completed_at is None and task.status is not WAITING
    spent = "" if seconds is None or over else durations(seconds)
    right = f"{_who_does_what(task, said, width)} {spent.rjust(TIME_WIDTH)}"
    room = max(width - len(right) - 2, len(row.guide) + NARROWEST_TITLE)
    left = Text(row.guide + one_line(task.title), no_wrap=True)
    left.truncate(room, overflow="ellipsis", pad=True)
    line = Text.assemble(left, "  ", (right, _style(task)), no_wrap=True, overflow="crop")
    line.truncate(width)
    return [line] if row.note is None else [line, _note(row, row.note, width)]


def _note(row: _Row, words: str, width: int) -> Text:
    """Of what is being written the end, of advice the beginning."""
    if row.writing:
        tail = Text(words)
        while tail.cell_len > max(width - len(row.below) - 2, 1):
            tail = tail[1:]
        words = f"… {tail.plain}"
    note = Text(f"{row.below}{words}", style="dim", no_wrap=True)
    note.truncate(width, overflow="ellipsis")
    return note


def _who_does_what(task: Task, said: str, width: int) -> str:
    """In two columns; on a narrow screen in one, with the name where it fits."""
    if width >= WIDE:
        name = one_line(task.agent or task.executor or "", AGENT_WIDTH)
        return f"{said.ljust(DOING_WIDTH)} {name.ljust(AGENT_WIDTH)}"
    both = f"{said} {one_line(task.agent or '')}"
    return (both if len(both) <= DOING_WIDTH else said).ljust(DOING_WIDTH)


def _style(task: Task) -> str:
    if needs_a_person(task):
        return "yellow"
    if task.status is FAILED or task.status is BLOCKED:
        return "red"
    if task.status is COMPLETED:
        return "yellow" if task.needs_attention else "green"
    return "cyan" if task.holder is not None else ""


def _advice(task: Task) -> str | None:
    """What the advisor said last of this result, unless it simply passed."""
    critique = task.critique
    if critique is None or critique.opinion is Opinion.PASSED:
        return None
    if critique.suggestions:
        return f"{one_line(critique.reviewer)}: {suggestions(critique.suggestions)}"
    return f"{one_line(critique.reviewer)} {opinion(critique)}"


def durations(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600} h {whole % 3600 // 60:02d}"
