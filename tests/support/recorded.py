"""A demonstration without any model: its words are recorded and played by a real server.

The server, the crew, the board and the command are real; only the model's words are recorded.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from tests.support.brain import Brain, planned, rejection
from tests.support.openai_server import Answer, OpenAIServer

REQUEST = "Write release notes and an upgrade checklist for version 2.0"
SECONDS_A_CALL = 0.6

_WORK = {
    "List the changes": "- New: `--json` on every command.\n- Changed: all settings in one file.\n"
    "- Removed: the old `serve` flag.",
    "Write the release notes": "Version 2.0 prints JSON from every command and keeps all settings "
    "in one file. The old `serve` flag is gone.",
    "Write the upgrade checklist": "1. Back up your settings.\n2. Install 2.0.\n3. Start it once.",
}
_FIXED = (
    "1. Back up your settings.\n2. Install 2.0.\n3. Move settings into the one new file.\n"
    "4. Remove the old `serve` flag from your scripts.\n5. Start it once and read the first line."
)
_ANSWER = f"""\
# Version 2.0

{_WORK["Write the release notes"]}

## Upgrading

{_FIXED}"""


def _advise(title: str, prompt: str) -> Mapping[str, Any]:
    if title == "Write the upgrade checklist" and "Remove the old" not in prompt.split("<task>")[1]:
        return rejection("add the step that moves the settings", "say what to do about `serve`")
    return {"passed": True, "comment": "complete and clear"}


RECORDED = Brain(
    plan=[
        planned("List the changes", "simple"),
        planned("Write the release notes", "normal", "List the changes"),
        planned("Write the upgrade checklist", "complex", "List the changes"),
    ],
    work=lambda title, prompt: f"{_WORK[title]}\nSTATUS: COMPLETE\nMESSAGE: written",
    fix=lambda title, prompt: f"{_FIXED}\nSTATUS: COMPLETE\nMESSAGE: added both steps",
    advise=_advise,
    answer=lambda prompt: _ANSWER,
)


def play() -> int:
    return anyio.run(_play)


async def _play() -> int:
    def reply(request: dict[str, Any]) -> Answer:
        return Answer(RECORDED(request["messages"]), delay_seconds=SECONDS_A_CALL)

    async with OpenAIServer(reply, ("recorded-script",)).running() as server:
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
            env.pop("SWARM_MODEL", None)
            command = [sys.executable, "-m", "core", "run", REQUEST, "-C", folder]
            print(f'$ swarm run "{REQUEST}"\n', flush=True)
            done = await anyio.run_process(
                command,
                env=env,
                cwd=Path(__file__).parents[2],
                check=False,
                stdin=None,
                stdout=None,
                stderr=None,
            )
    return done.returncode
