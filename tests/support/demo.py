"""`make demo`: one real request from end to end, on a language model of this machine.

Where none can be had, a recorded script is played in its place, and says so.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.support.recorded import play

REQUEST = (
    "Write a checklist for opening a small web shop: legal pages, payment, delivery, first day"
)
COMMAND = (sys.executable, "-m", "core")
HERE = Path(__file__).parents[2]

NEXT = """
Next:
  .venv/bin/swarm run "Write a release checklist for version 2.0 of a Python library"
                              on the same model, in a project of your own; it suits checklists
                              and code, and its facts may be wrong
  .venv/bin/swarm models      what runs on this machine
  export OPENAI_API_KEY=…     a large model behind the same commands"""


def demo(model: str) -> int:
    if find_spec("xllamacpp") is None or _swarm("models", "pull", model) != 0:
        print("\nNo model can run here, so this plays a recorded script instead.\n", flush=True)
        return play()
    with tempfile.TemporaryDirectory() as folder:
        print(f'\n$ swarm run "{REQUEST}"\n', flush=True)
        code = _swarm("run", REQUEST, "--model", f"embedded:{model}", "-C", folder)
    print(NEXT)
    return code


def _swarm(*words: str) -> int:
    return subprocess.run([*COMMAND, *words], cwd=HERE, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(demo(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
