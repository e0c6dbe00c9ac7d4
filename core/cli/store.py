"""Upkeep of the store: init, migrate, status, copy."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from core.app import made_store_file, store_file
from core.cli.command import app
from core.cli.options import HERE, Json, Project, StoreUrl
from core.cli.paper import many, paper, print_json
from core.settings import find_project, load_settings
from core.store import is_postgres, store_named

store_app = App(name="store", help="Look after the board's store: init, migrate, status, copy.")
app.command(store_app)

Address = Annotated[
    str, Parameter(help="An address, like sqlite:board.db or postgresql://user@host/database.")
]


def _address(project: Path, named: str | None) -> str:
    folder = find_project(project)
    return named or store_named(os.environ) or f"sqlite:{store_file(folder)}"


@store_app.command(help_epilogue="Examples:\n  swarm store init --store postgresql://me@host/board")
async def init(*, store: StoreUrl = None, project: Project = HERE, json: Json = False) -> None:
    """Make the board in an empty database; what is there stays as it is."""
    from core import moving

    url = _address(project, store)
    if url == f"sqlite:{store_file(find_project(project))}":
        made_store_file(find_project(project))
    made = await moving.make(url)
    about = await moving.standing(url)
    if json:
        print_json({"made": made, **about.model_dump(mode="json")})
        return
    word = "made the board" if made else "there is a board already"
    paper().print(f"{word} in {about.store} ({about.engine}, schema {about.schema_version})")


@store_app.command(help_epilogue="Examples:\n  swarm store migrate --store postgresql://host/board")
async def migrate(*, store: StoreUrl = None, project: Project = HERE, json: Json = False) -> None:
    """Bring the store up to date with this version of Swarm, all of it or nothing."""
    from core import moving

    before, after = await moving.migrate(_address(project, store))
    if json:
        print_json({"before": before, "after": after})
    elif before == after:
        paper().print(f"nothing to do: the store has schema {after}, the newest")
    else:
        paper().print(f"brought the store from schema {before} to {after}")


@store_app.command(help_epilogue="Examples:\n  swarm store status\n  swarm store status --json")
async def status(*, store: StoreUrl = None, project: Project = HERE, json: Json = False) -> None:
    """Show where the board is kept, on which engine, and how much is on it."""
    from core import moving

    about = await moving.standing(_address(project, store))
    if json:
        print_json(about)
        return
    console = paper()
    console.print(f"store    {about.store}", soft_wrap=True)
    console.print(f"engine   {about.engine}")
    old = about.schema_version < about.newest
    mend = f", this Swarm works with {about.newest}: swarm store migrate" if old else ""
    console.print(f"schema   {about.schema_version}{mend}")
    if not old:
        console.print(f"holds    {many(about.tasks, 'task')}, {many(about.events, 'event')}")
        console.print(f"at work  {many(about.held, 'claim')}")


_COPY_EXAMPLES = """\
Examples:
  swarm store copy sqlite:.swarm/swarm.db postgresql://me@host/board
  swarm store copy postgresql://me@host/board sqlite:board.db
"""


@store_app.command(help_epilogue=_COPY_EXAMPLES)
async def copy(
    source: Address, target: Address, /, *, project: Project = HERE, json: Json = False
) -> None:
    """Copy a whole board to an empty store, and make sure that nothing is missing.

    Nobody may be at work on it. The source stays as it is.
    """
    from core import moving

    settings = load_settings(find_project(project), os.environ)
    done = await moving.copy(source, target, settings.rules)
    if json:
        print_json(done)
        return
    console = paper()
    for table, rows in done.tables.items():
        console.print(f"{table.ljust(13)}{rows:>9,} rows  {done.hashes[table][:12]}")
    console.print(f"copied {done.source} to {done.target}; every row and every promise is there")
    words = done.target if is_postgres(done.target) else target
    console.print(f"work on it with: swarm work --store {words}", soft_wrap=True)
