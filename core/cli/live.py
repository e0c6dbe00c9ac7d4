"""The live tree: what every task is doing now, for a person at a terminal."""

import time
from collections.abc import Iterable, Sequence

import anyio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from core.agents.speech import LOOK_SECONDS, Speech
from core.cli.plain import one_line
from core.cli.tree import durations, tree_lines
from core.domain.events import Event
from core.domain.task import COMPLETED, Kind, Task, TaskId
from core.task_board import TaskBoard

REDRAWS_A_SECOND = 8
TICK_SECONDS = 1.0
"""How often the times move when nothing else does."""
BAR_WIDTH = 30
ROWS_BELOW = 3
"""The progress bar, and room for the prompt."""


class LiveTree:
    def __init__(
        self, board: TaskBoard, speech: Speech, tasks: Iterable[Task], console: Console
    ) -> None:
        self._board = board
        self._speech = speech
        self._console = console
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._families: dict[TaskId, list[Task]] = {}
        self._dirty = {task.root: True for task in tasks}
        """Requests to be read again, in the order they appeared."""
        self._changed = anyio.Event()
        self._began = time.monotonic()

    def show(self, event: Event) -> None:
        if event.request is not None:
            self._dirty[event.request] = True
            self._changed.set()

    def say(self, text: str) -> None:
        self._console.print(Text(f"swarm: {one_line(text)}"))

    async def keep(self) -> None:
        self._live.start()
        while True:
            await self._draw()
            await anyio.sleep(1 / REDRAWS_A_SECOND)
            tick = LOOK_SECONDS if self._speech else TICK_SECONDS
            with anyio.move_on_after(tick - 1 / REDRAWS_A_SECOND):
                await self._changed.wait()
            self._changed = anyio.Event()

    async def finish(self, *, picture: bool = True) -> None:
        """The whole tree once more, also what did not fit the screen."""
        if not picture:
            self._live.transient = True
            return
        await self._read()
        self._live.vertical_overflow = "visible"
        self._live.update(Group(*self._tree(rows=None), Text("")), refresh=True)

    def close(self) -> None:
        self._live.stop()

    async def _draw(self) -> None:
        await self._read()
        rows = max(self._console.height - ROWS_BELOW, 3)
        self._live.update(Group(*self._tree(rows), self._progress()), refresh=True)

    async def _read(self) -> None:
        roots, self._dirty = list(self._dirty), {}
        for root in roots:
            self._families[root] = await self._board.family(root)

    def _tree(self, rows: int | None) -> Sequence[Text]:
        families, width = self._families.values(), self._console.width
        return tree_lines(families, time.time(), width, rows, self._speech.words())

    def _progress(self) -> RenderableType:
        tasks = [
            task for family in self._families.values() for task in family if task.kind is Kind.TASK
        ]
        settled = sum(task.settled for task in tasks)
        spent = durations(time.monotonic() - self._began)
        done = sum(task.status is COMPLETED for task in tasks)
        count = f"{done} of {len(tasks)} tasks done" if tasks else "no tasks yet"
        if settled > done:
            count += f", {settled - done} not"
        said = Text(f"{count}, {spent}", no_wrap=True)
        bar = ProgressBar(total=max(len(tasks), 1), completed=settled, width=BAR_WIDTH)
        row = Table.grid(padding=(0, 1))
        row.add_row(bar, said)
        return row
