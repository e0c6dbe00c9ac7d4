"""The command in this process, for tests that would notice nothing of another one."""

import io
import os
from collections.abc import Awaitable, Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, TypeVar
from unittest.mock import patch

import anyio

from core.cli import command
from core.domain.rules import Rules
from tests.support.board import AUTO, House, open_house
from tests.support.clock import VirtualClock

_T = TypeVar("_T")
NOW = 1_700_000_000.0


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Here:
    """`swarm` in one project, at a width, without anybody's keys."""

    def __init__(self, project: Path, columns: int = 100) -> None:
        self.project = project
        self.elsewhere = False
        """For commands that know no project."""
        self.env = {"COLUMNS": str(columns), "PATH": os.environ["PATH"]}
        # Not what happens to be in the cache of whoever runs the tests.
        self.env["SWARM_MODELS"] = "/nonexistent"

    def __call__(self, *words: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        place = [] if self.elsewhere else ["-C", str(self.project)]
        with (
            patch.dict(os.environ, self.env, clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = command._run([*words, *place])
        return Done(code, out.getvalue(), err.getvalue())

    def arranged(self, story: Callable[[House], Awaitable[_T]], rules: Rules = AUTO) -> _T:
        """Play a story on the project's board before anybody looks."""

        async def play() -> _T:
            folder = self.project / ".swarm"
            folder.mkdir(exist_ok=True)
            async with open_house(folder, rules, clock=VirtualClock(NOW)) as house:
                return await story(house)

        return anyio.run(play)
