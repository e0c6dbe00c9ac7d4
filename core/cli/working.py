"""Handing in work and letting the crew do it: run, add, work."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from core.cli import carrying_out
from core.cli.answer_file import AnswerFile
from core.cli.carrying_out import Asked, Ways, opened
from core.cli.command import app
from core.cli.options import (
    HERE,
    BudgetTokens,
    BudgetUsd,
    Json,
    Model,
    Project,
    Quiet,
    StoreUrl,
    Strict,
    Tags,
    budget,
)
from core.cli.reading import BadInput, request_text
from core.domain.task import Complexity, Kind

Words = Annotated[str, Parameter(help="The request, in words; - reads it from stdin.")]
File = Annotated[
    Path | None, Parameter(name=["--file", "-f"], help="A text file that holds the request.")
]
Attached = Annotated[
    list[Path] | None,
    Parameter(name="--attach", negative="", help="A text file the crew gets with it; repeatable."),
]
Output = Annotated[
    Path | None, Parameter(name=["--output", "-o"], help="A file to write the answer to as well.")
]
Follow = Annotated[
    str | None, Parameter(name="--follow", help="Id of an earlier request this one builds on.")
]
OnlyPlan = Annotated[
    bool, Parameter(name="--plan", negative="", help="Plan it, show the plan and stop.")
]
AsTask = Annotated[
    bool, Parameter(name="--task", negative="", help="One task for one executor, not planned.")
]
HowHard = Annotated[
    Complexity | None,
    Parameter(name="--complexity", help="How hard the task is; decides who looks at it."),
]
AutoReview = Annotated[
    bool,
    Parameter(
        name=["--auto-review", "-a"], negative="", help="Advice after every revision of the task."
    ),
]
MaxCycles = Annotated[
    int | None, Parameter(name="--max-cycles", help="Critiques of the task at most, 1 to 10.")
]
DependsOn = Annotated[
    list[str] | None,
    Parameter(name="--depends-on", negative="", help="Id of what has to be done before it."),
]
TypeOfTask = Annotated[
    str, Parameter(name=["--type", "-t"], help="Type of the task, like answer or implement.")
]


Record = Annotated[
    Path | None,
    Parameter(name="--record", help="A new file for every exchange of the run; no key gets in."),
]
Replay = Annotated[
    Path | None, Parameter(name="--replay", help="Run a recording again, without any server.")
]

_RUN_EXAMPLES = """\
Examples:
  swarm run "Compare SQLite and PostgreSQL for a small shop"
  git diff | swarm run "Review this change" --attach -
  swarm run -f brief.md --attach notes.txt -o answer.md
  swarm run --plan "Write a handbook for new colleagues"
  swarm run --follow 4k2m "Now as a table"
  swarm run --record run.jsonl "Compare two caches"; swarm run --replay run.jsonl
  swarm run --budget-tokens 200000 "Write a handbook for new colleagues"
"""


@app.command(help_epilogue=_RUN_EXAMPLES)
def run(
    *words: Words,
    file: File = None,
    attach: Attached = None,
    output: Output = None,
    follow: Follow = None,
    plan: OnlyPlan = False,
    tag: Tags = None,
    model: Model = None,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    record: Record = None,
    replay: Replay = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
    project: Project = HERE,
    store: StoreUrl = None,
) -> int:
    """Hand in a request and wait for its answer."""
    ways = Ways(json, quiet, strict, AnswerFile(output) if output else None)
    if replay is not None:
        if words or file or record:
            raise BadInput("a replay brings its own request; leave out the words and --record")
        return anyio.run(carrying_out.replay, replay, Path(project), ways)
    text = request_text(words, file, attach or ())
    asked = Asked(text, tag or (), follow, budget=budget(budget_tokens, budget_usd), record=record)
    work = carrying_out.plan if plan else carrying_out.run
    return anyio.run(partial(work, opened(project, model, store), asked, ways))


_ADD_EXAMPLES = """\
Examples:
  swarm add "Collect what changed in the last release"
  swarm add --task --complexity simple "List the open questions in notes.txt"
  swarm add --depends-on 4k2m "Turn it into a talk of ten minutes"
"""


@app.command(help_epilogue=_ADD_EXAMPLES)
def add(
    *words: Words,
    file: File = None,
    attach: Attached = None,
    task: AsTask = False,
    complexity: HowHard = None,
    auto_review: AutoReview = False,
    max_cycles: MaxCycles = None,
    depends_on: DependsOn = None,
    tag: Tags = None,
    type_: TypeOfTask = "answer",
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    json: Json = False,
    project: Project = HERE,
    store: StoreUrl = None,
) -> int:
    """Queue a request or a task, for swarm work to do later.

    Prints its id. Naming a complexity, auto-review or max-cycles makes it a task.
    """
    fields: dict[str, Any] = {"type": type_}
    if task or complexity is not None or auto_review or max_cycles is not None:
        fields |= {"kind": Kind.TASK, "complexity": complexity, "auto_review": auto_review}
        fields["max_cycles"] = max_cycles
    text = request_text(words, file, attach or ())
    limit = budget(budget_tokens, budget_usd)
    if limit and "kind" in fields:
        raise BadInput("only a request has a budget; leave out --task, or the budget")
    asked = Asked(text, tag or (), depends_on=depends_on or (), budget=limit)
    return anyio.run(partial(carrying_out.add, opened(project, store=store), asked, fields, json))


_WORK_EXAMPLES = """\
Examples:
  swarm work
  swarm work --json --model small
"""


@app.command(help_epilogue=_WORK_EXAMPLES)
def work(
    *,
    model: Model = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
    project: Project = HERE,
    store: StoreUrl = None,
) -> int:
    """Work on everything on the board until nothing is left to do without you.

    Prints the answers it finished; with --json one result line for each request it worked on.
    """
    return anyio.run(
        partial(carrying_out.work, opened(project, model, store), Ways(json, quiet, strict))
    )
