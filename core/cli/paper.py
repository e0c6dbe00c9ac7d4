"""Paper: what commands print on, and the pieces their pages share."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NoReturn

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from core.cli.plain import one_line, plain
from core.domain.task import TaskStatus
from core.views.board import TaskLine
from core.views.wording import duration

NARROW_COLUMNS = 80
GAP, AGENT_WIDTH, NARROWEST = 2, 16, 12
WIDE_COLUMNS = 160
"""Where no terminal says how wide it is, nothing has to be cut."""

_STYLES = {
    TaskStatus.COMPLETED: "green",
    TaskStatus.FAILED: "red",
    TaskStatus.BLOCKED: "yellow",
    TaskStatus.HUMAN_REVIEW: "yellow",
    TaskStatus.CLAIMED: "cyan",
    TaskStatus.CANCELLED: "dim",
}


class _Paper(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Rich would exit with a failure; the command itself knows what a closed pipe means."""
        raise BrokenPipeError


def paper() -> Console:
    """Standard output, on which no text from outside is taken for markup."""
    console = _Paper(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE_COLUMNS
    return console


def print_json(view: BaseModel | dict[str, Any]) -> None:
    """One object, marked with the version of its shape."""
    data = view.model_dump(mode="json") if isinstance(view, BaseModel) else view
    sys.stdout.write(json.dumps({"v": 1, **data}, ensure_ascii=False) + "\n")


def heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", style="bold"))


def block(console: Console, text: str, indent: int = 2) -> None:
    """A stranger's text of many lines, wrapped at words."""
    room = max(console.width - indent, NARROWEST)
    for line in Text(plain(text).strip("\n")).wrap(console, room):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line) if line else Text(), soft_wrap=True)


def fields(console: Console, pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values, those without a value left out."""
    told = [(name, one_line(value)) for name, value in pairs if value.strip()]
    width = max((len(name) for name, _ in told), default=0)
    for name, value in told:
        hanging(console, Text(f"  {name.ljust(width)}", "dim"), value)


def hanging(console: Console, left: Text, text: str) -> None:
    """A short word to the left and a text to its right, wrapped below itself."""
    indent = left.cell_len + GAP
    for line in Text(text).wrap(console, max(console.width - indent, NARROWEST)):
        line.rstrip()
        console.print(left.append(" " * GAP).append_text(line), soft_wrap=True)
        left = Text(" " * (indent - GAP))


def columns(
    console: Console, rows: Sequence[Sequence[Text]], *, stretch: int, indent: int = 0
) -> None:
    """Rows side by side, one line each: the column `stretch` is cut where the width ends."""
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    others = sum(width + GAP for at, width in enumerate(widths) if width and at != stretch)
    widths[stretch] = max(min(widths[stretch], console.width - indent - others), NARROWEST)
    for row in rows:
        line = Text(" " * indent)
        for cell, width in zip(row, widths, strict=True):
            if width:
                fitted = cell.copy()
                fitted.truncate(width, overflow="ellipsis", pad=True)
                line.append_text(fitted).append(" " * GAP)
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ellipsis")


def tree(console: Console, roots: Sequence[TaskLine]) -> None:
    """One line per task; what lies below a task hangs from it."""
    narrow = console.width < NARROW_COLUMNS
    rows = [[_name(branch, line), *_right(line, narrow=narrow)] for branch, line in _walk(roots)]
    columns(console, rows, stretch=0, indent=2)


def _name(branch: str, line: TaskLine) -> Text:
    mark = "! " if line.needs_attention else ""
    return Text.assemble(branch, (line.id, "bold"), "  ", (mark, "yellow"), one_line(line.title))


def _right(line: TaskLine, *, narrow: bool) -> tuple[Text, Text, Text]:
    done = sum(one.status is TaskStatus.COMPLETED for one in line.below)
    waits = line.status is TaskStatus.WAITING and line.below
    said = f"{done} of {len(line.below)} done" if waits else line.doing
    agent = "" if narrow else one_line(line.agent or "", AGENT_WIDTH)
    took = duration(line.elapsed_seconds) if line.elapsed_seconds is not None else ""
    return Text(said, _STYLES.get(line.status, "")), Text(agent, "dim"), Text(took, "dim")


def _walk(lines: Sequence[TaskLine], above: str | None = None) -> Iterator[tuple[str, TaskLine]]:
    for number, line in enumerate(lines, 1):
        last = number == len(lines)
        if above is None:
            yield "", line
            yield from _walk(line.below, "")
        else:
            yield above + ("└─ " if last else "├─ "), line
            yield from _walk(line.below, above + ("   " if last else "│  "))


def when(ts: float, now: float) -> str:
    """The time of the day by the clock on the wall; with the date when it was another day."""
    moment, today = datetime.fromtimestamp(ts), datetime.fromtimestamp(now)
    same_day = moment.date() == today.date()
    return moment.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")


def many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
