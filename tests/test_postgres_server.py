"""The throw-away server dies with whoever started it, and leaves nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.children import ENVIRONMENT, ROOT


def test_nothing_of_the_server_survives_a_killed_test_run() -> None:
    command = [sys.executable, "-m", "tests.support.postgres_server", "18"]
    with subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        folder, postmaster = run.stdout.readline().split()
        assert lives(int(postmaster))
        run.send_signal(signal.SIGKILL)

    limit = time.monotonic() + 10
    while (lives(int(postmaster)) or Path(folder).exists()) and time.monotonic() < limit:
        os.sched_yield()

    assert not lives(int(postmaster))
    assert not Path(folder).exists()


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]
