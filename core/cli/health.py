"""Setting up and checking: init, doctor."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from core.cli.command import DONE, SETUP, app
from core.cli.options import HERE, Json, Project, StoreUrl
from core.cli.paper import hanging, many, paper, print_json
from core.cli.plain import one_line
from core.doctor import Finding, Level, examine
from core.local_models.choice import meant
from core.project_files import make_project_files

_STYLES = {Level.OK: "green", Level.NOTE: "yellow", Level.MEND: "bold red", Level.SKIPPED: "dim"}


@app.command(help_epilogue="Examples:\n  swarm doctor\n  swarm doctor --offline")
async def doctor(
    *,
    offline: Annotated[
        bool, Parameter(name="--offline", negative="", help="Leave out server and model.")
    ] = False,
    project: Project = HERE,
    store: StoreUrl = None,
    json: Json = False,
) -> int:
    """Check that everything is there that a crew needs; asks the model once, which costs a call."""
    findings = []
    named = {"SWARM_STORE": store} if store else {}
    async for finding in examine(project, {**os.environ, **named}, offline=offline):
        findings.append(finding)
        if not json:
            _print(finding)
    bad = [one for one in findings if one.level is Level.MEND]
    if json:
        shown = [one.model_dump(mode="json") for one in findings]
        print_json({"healthy": not bad, "findings": shown})
    else:
        paper().print(f"\n{_end(findings, len(bad))}")
    return SETUP if bad else DONE


def _end(findings: list[Finding], bad: int) -> str:
    if bad:
        return f"{many(bad, 'thing')} must be mended."
    if any(one.level is Level.SKIPPED for one in findings):
        return "All is well that was looked at."
    return "All is well."


def _print(finding: Finding) -> None:
    console = paper()
    left = Text.assemble(
        (finding.level.value.ljust(7), _STYLES[finding.level]), f" {finding.check.ljust(8)}"
    )
    hanging(console, left, one_line(finding.text))
    if finding.mend:
        hanging(console, Text(" " * left.cell_len), one_line(finding.mend))


Small = Annotated[
    bool,
    Parameter(name="--small", negative="", help="A crew for a small model, on any server."),
]


@app.command(
    help_epilogue="Examples:\n  swarm init\n  swarm init -C my-project\n  swarm init --small"
)
def init(*, small: Small = False, project: Project = HERE, json: Json = False) -> None:
    """Make a .swarm folder with settings and a crew of this project's own; overwrites nothing.

    With a model of this machine, or with --small, the crew is the one for small models.
    """
    wanted = small or meant(os.environ) is not None
    made, kept = make_project_files(Path(project), small=wanted)
    if json:
        print_json({"made": [str(path) for path in made], "kept": [str(path) for path in kept]})
        return
    console = paper()
    for word, paths in (("made", made), ("kept", kept)):
        for path in paths:
            console.print(f"{word}  {one_line(str(path))}", soft_wrap=True)
    console.print("\nNext:")
    console.print("  swarm doctor               checks key, server and model")
    console.print('  swarm run "what you want"  hands in a request')
