"""Screens: where a command at work shows what happens; each takes every event once."""

import sys
from collections.abc import Iterable
from typing import Protocol, TextIO

from rich.console import Console

from core.app import Swarm
from core.cli.lines import Lines
from core.cli.live import LiveTree
from core.cli.plain import one_line
from core.domain.events import Event
from core.domain.task import Task


class Screen(Protocol):
    def show(self, event: Event) -> None: ...
    def say(self, text: str) -> None:
        """Something about the run itself: a pause, a stop."""
        ...

    async def keep(self) -> None:
        """Beside the crew, until it is cancelled: whatever the screen has to do in time."""
        ...

    async def finish(self, *, picture: bool = True) -> None:
        """The end; with a last picture, unless something better follows."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was; also after an error."""
        ...


class JsonLines:
    """Every event as a line on stdout; what is said about the run goes to stderr."""

    def show(self, event: Event) -> None:
        print(event.line(), flush=True)

    def say(self, text: str) -> None:
        print(f"swarm: {one_line(text)}", file=sys.stderr, flush=True)

    async def keep(self) -> None: ...

    async def finish(self, *, picture: bool = True) -> None: ...

    def close(self) -> None: ...


class Silence:
    def show(self, event: Event) -> None: ...

    def say(self, text: str) -> None: ...

    async def keep(self) -> None: ...

    async def finish(self, *, picture: bool = True) -> None: ...

    def close(self) -> None: ...


def screen_for(
    swarm: Swarm, tasks: Iterable[Task], *, json: bool, quiet: bool, err: TextIO | None = None
) -> Screen:
    """A live tree where a person watches, a line per event elsewhere."""
    if json:
        return JsonLines()
    if quiet:
        return Silence()
    console = Console(file=err or sys.stderr, highlight=False, markup=False, emoji=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveTree(swarm.board, swarm.speech, tasks, console)
    return Lines(tasks, err or sys.stderr)
