"""The options that several commands share, so that one idea has one name everywhere."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Project = Annotated[
    Path,
    Parameter(name=["--project", "-C"], help="Folder of the project.", show_default=False),
]
StoreUrl = Annotated[
    str | None,
    Parameter(
        name="--store",
        help="The board's address, like postgresql://user@host/database (else SWARM_STORE, "
        "else a file in the project).",
    ),
]
Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON, for programs to read.")
]
Quiet = Annotated[
    bool, Parameter(name=["--quiet", "-q"], negative="", help="Show the result and nothing else.")
]
Strict = Annotated[
    bool,
    Parameter(name="--strict", negative="", help="Exit with 1 when any part of it failed."),
]
Model = Annotated[
    str | None,
    Parameter(name="--model", help="Which model of the server to use (else SWARM_MODEL)."),
]
Tags = Annotated[
    list[str] | None,
    Parameter(
        name="--tag", negative="", help="A tag for all its tasks, like review:batch; repeatable."
    ),
]
Message = Annotated[str, Parameter(name=["--message", "-m"], help="What you want to say.")]

HERE = Path()
"""The default of `Project`: the folder the command was started in."""
