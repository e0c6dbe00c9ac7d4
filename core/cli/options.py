"""The options that several commands share, so that one idea has one name everywhere."""

import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from core.cli.reading import BadInput
from core.domain.budget import Budget

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
BudgetTokens = Annotated[
    int | None,
    Parameter(name="--budget-tokens", help="Tokens it may use; then it stops with what it has."),
]
BudgetUsd = Annotated[float | None, Parameter(name="--budget-usd", help="The same in dollars.")]
Message = Annotated[str, Parameter(name=["--message", "-m"], help="What you want to say.")]


def budget(tokens: int | None, usd: float | None) -> Budget:
    if (tokens is not None and tokens < 1) or (usd is not None and not 0 < usd < math.inf):
        raise BadInput("a budget should be more than 0; leave it out for none")
    return Budget(tokens, usd)


HERE = Path()
"""The default of `Project`: the folder the command was started in."""
