"""What the README shows works as it is shown."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_example_runs_and_prints_what_is_promised(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

    run = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.stderr == ""
    first, *events = run.stdout.splitlines()
    assert first == "completed - Take the one in memory."
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
