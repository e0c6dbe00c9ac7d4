"""One line per event in plain English, where nobody watches a terminal."""

import time
from collections.abc import Iterable
from typing import TextIO

from core.cli.plain import one_line
from core.domain.events import AddedFact, CritiqueFact, Event, EventType
from core.domain.task import Task, TaskId
from core.views.wording import told

TITLE_WIDTH, TEXT_WIDTH = 60, 200

_UNTOLD = frozenset(
    {
        EventType.MAIL_SENT,
        EventType.MAIL_TAKEN,
        EventType.MAIL_ACKNOWLEDGED,
        EventType.MAIL_WITHDRAWN,
        EventType.ITERATION_ENDED,
        EventType.UNKNOWN,
    }
)
"""Told by the step they belong to."""


class Lines:
    def __init__(self, tasks: Iterable[Task], out: TextIO) -> None:
        self._titles: dict[TaskId, str] = {task.id: task.title for task in tasks}
        self._out = out

    def show(self, event: Event) -> None:
        if isinstance(event.data, AddedFact) and event.task is not None:
            self._titles[event.task] = event.data.title
        if event.type not in _UNTOLD:
            print(self._line(event), file=self._out, flush=True)

    def say(self, text: str) -> None:
        print(f"swarm: {one_line(text)}", file=self._out, flush=True)

    async def keep(self) -> None: ...

    async def finish(self, *, picture: bool = True) -> None: ...

    def close(self) -> None: ...

    def _line(self, event: Event) -> str:
        at = time.strftime("%H:%M:%S", time.localtime(event.ts))
        title = self._titles.get(event.task, "") if event.task is not None else ""
        about = f"{event.task or '-'} {one_line(title, TITLE_WIDTH)}".strip()
        return f"{at} {about}: {one_line(_sentence(event), TEXT_WIDTH)}"


def _sentence(event: Event) -> str:
    match event.data:
        case CritiqueFact() as fact if fact.critique.suggestions and not fact.critique.late:
            return f"{told(event)} ({suggestions(fact.critique.suggestions)})"
        case _:
            return told(event)


def suggestions(named: tuple[str, ...]) -> str:
    """How many there are, and the first."""
    count = f"{len(named)} suggestion{'' if len(named) == 1 else 's'}"
    return f"{count}: {one_line(named[0])}"
