"""Allowing a project what its files name: trust."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from core import trust as trusted
from core.cli.command import app
from core.cli.options import HERE, Json, Project
from core.cli.paper import paper, print_json
from core.cli.plain import one_line
from core.env_file import read_env_file
from core.settings import find_project


@app.command(help_epilogue="Examples:\n  swarm trust --list\n  swarm trust\n  swarm trust --remove")
def trust(
    *,
    list_: Annotated[
        bool, Parameter(name="--list", negative="", help="Show what it names; allow nothing.")
    ] = False,
    remove: Annotated[bool, Parameter(name="--remove", negative="", help="Take it back.")] = False,
    project: Project = HERE,
    json: Json = False,
) -> None:
    """Allow this project's .env and .swarm/ to name servers and the variables of keys.

    Holds for these files as they are now; when one of them changes, it is asked for again.
    """
    folder = find_project(Path(project))
    named = read_env_file(folder).named() + trusted.named_in_config(folder)
    if remove:
        trusted.distrust(folder)
    elif not list_:
        trusted.trust(folder)
    now = trusted.is_trusted(folder)
    if json:
        print_json({"project": str(folder), "trusted": now, "names": named})
        return
    console = paper()
    for one in named:
        console.print(one_line(one, 300), soft_wrap=True)
    if not named:
        console.print("Its files name no server and no key.")
    said = "Trusted as it is now." if now else "Not trusted. Allow it with: swarm trust"
    console.print(said if named or now else "")
