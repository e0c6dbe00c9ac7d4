"""Looking at the board: status, show, mail, agents."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from core import views
from core.app import Swarm, store_file
from core.cli import board_page, task_page
from core.cli.command import STDIN, app
from core.cli.options import HERE, Json, Project, StoreUrl
from core.cli.paper import paper, print_json
from core.crew import FILE, crew_file, load_crew
from core.domain.task import Task
from core.errors import TaskNotFound
from core.local_models.choice import meant
from core.settings import FOLDER, find_project, load_settings
from core.store import store_named

Id = Annotated[str, Parameter(help="The task's id, or enough of its first letters.")]


@asynccontextmanager
async def existing(project: Path, store: str | None = None) -> AsyncIterator[Swarm | None]:
    """The project's board, or None where nothing was ever asked for: looking makes no files."""
    folder = find_project(project)
    env = {**os.environ, **({"SWARM_STORE": store} if store else {})}
    if not (store_named(env) or store_file(folder).exists()):
        load_settings(folder, env)
        yield None
        return
    async with Swarm.open(folder, env=env) as swarm:
        yield swarm


async def found(swarm: Swarm | None, prefix: str) -> Task:
    word = "-" if prefix == STDIN else prefix.strip()
    if swarm is None:
        raise TaskNotFound(word)
    return await swarm.board.find(word.lower())


@app.command(help_epilogue="Examples:\n  swarm status\n  swarm status --all\n  swarm status --json")
async def status(
    *,
    all_: Annotated[
        bool, Parameter(name=["--all", "-a"], negative="", help="Finished requests too.")
    ] = False,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Show what needs you, what is open, and who is at it."""
    async with existing(project, store) as swarm:
        board = await views.board(swarm.store, finished=all_) if swarm else views.EMPTY_BOARD
    if json:
        print_json(board)
    else:
        board_page.print_board(paper(), board, finished=all_)


@app.command(
    help_epilogue="Examples:\n  swarm show k3f9\n  swarm show k3 --prompts\n  swarm show k3 --json"
)
async def show(
    task: Id,
    /,
    *,
    prompts: Annotated[
        bool,
        Parameter(name="--prompts", negative="", help="What was really sent, and what came back."),
    ] = False,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Show everything about one task: its story, the advice, the result, what it cost."""
    async with existing(project, store) as swarm:
        one = await found(swarm, task)
        assert swarm is not None, "a task was found on a board"
        view = await views.one_task(swarm.store, one.id)
        calls = await views.calls(swarm.store, one.id) if prompts else ()
        now = swarm.store.clock.now()
    if json:
        said = {"calls": [call.model_dump(mode="json") for call in calls]} if prompts else {}
        print_json(view.model_dump(mode="json") | said)
    elif prompts:
        task_page.print_calls(paper(), view, calls, now)
    else:
        task_page.print_task(paper(), view, now)


@app.command(help_epilogue="Examples:\n  swarm mail\n  swarm mail --all\n  swarm mail --json")
async def mail(
    *,
    all_: Annotated[
        bool, Parameter(name=["--all", "-a"], negative="", help="Handled and withdrawn mail too.")
    ] = False,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Show the mail between agents that is open or dead."""
    async with existing(project, store) as swarm:
        letters = await views.mail(swarm.store, handled=all_) if swarm else views.NO_MAIL
    if json:
        print_json(letters)
    else:
        board_page.print_mail(paper(), letters, everything=all_)


@app.command(help_epilogue="Examples:\n  swarm agents\n  swarm agents --json")
async def agents(*, project: Project = HERE, json: Json = False) -> None:
    """Show the crew as it is configured, and where its file is."""
    folder = find_project(project)
    settings = load_settings(folder, os.environ)
    small = meant(settings.server.environment(os.environ)) is not None
    members = load_crew(folder, advice=settings.review.advice, small=small)
    file = crew_file(folder, small=small)
    if json:
        crew = [member.model_dump(mode="json") for member in members]
        print_json({"file": str(file), "agents": crew})
    else:
        board_page.print_agents(paper(), members, file, own=file == folder / FOLDER / FILE)
