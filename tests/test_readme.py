"""What the README shows works as it is shown."""

import re
import sys
from pathlib import Path

import anyio

from benchmarks.embedded import REQUESTS
from tests.support.brain import Brain, planned
from tests.support.openai_server import Answer, OpenAIServer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


async def test_the_example_runs_and_prints_what_is_promised(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    brain = Brain(plan=[planned("List"), planned("Compare", "normal", "List")])
    server = OpenAIServer(lambda request: Answer(brain(request["messages"])))

    with anyio.fail_after(60):
        async with server.running():
            env = {"PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": server.url}
            command = [sys.executable, "-c", example]
            run = await anyio.run_process(command, cwd=tmp_path, env=env, check=False)

    assert run.stderr == b""
    first, *events = run.stdout.decode().splitlines()
    assert first == "completed - The whole answer."
    assert events[0].startswith('{"v": 1, "seq": 1, ')
    assert len(events) > 10


def test_every_command_the_readme_names_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()

    named = set(re.findall(r"`make (\w+)`", README))

    assert named
    assert all(f"\n{name}:" in makefile for name in named)


def test_every_page_the_readme_links_to_is_there() -> None:
    pages = re.findall(r"\]\(([\w/.]+)\)", README)

    assert pages
    assert all((ROOT / page).is_file() for page in pages)


def test_the_requests_it_proposes_are_the_ones_that_were_measured() -> None:
    proposed = re.findall(r"^- `(Write .+)`$", README, re.MULTILINE)

    assert tuple(proposed) == REQUESTS
