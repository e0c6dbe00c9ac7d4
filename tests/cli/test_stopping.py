"""Ctrl-C and SIGTERM: what runs may end, nothing is lost, and the way back is shown."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from core import Swarm
from core.domain.task import PENDING, WAITING
from tests.cli.conftest import WithModel
from tests.support.brain import Brain, planned, role_of
from tests.support.openai_server import Answer
from tests.support.terminal import Command

TWICE_A_SECOND = 2.0
TWICE_TEN_SECONDS = 20.0


class Slow:
    """Plans at once; the work itself takes this long, or never ends."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.brain = Brain(plan=[planned("Write it"), planned("Read it", "simple", "Write it")])

    def __call__(self, asked: dict[str, object]) -> Answer:
        messages = asked["messages"]
        assert isinstance(messages, list)
        text = self.brain(messages)
        if self.seconds is None and role_of(messages[-1]["content"]) == "work":
            return Answer(hang=True)
        return Answer(text, delay_seconds=self.seconds or 0)


def started(swarm: Command, *words: str) -> "subprocess.Popen[str]":
    """The command, once an executor is at work."""
    process = swarm.start(*words)
    assert process.stderr is not None
    for line in process.stderr:
        if "began to work" in line:
            return process
    raise AssertionError("nobody began to work")


async def left_behind(project: Path) -> set[tuple[str, str | None]]:
    """Status and holder of every task; nothing may be held."""
    async with Swarm.open(project, env={}) as swarm, swarm.store.read() as reader:
        return {(task.status, task.holder) for task in await reader.all_tasks()}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
async def test_one_signal_lets_running_calls_end_and_says_how_to_go_on(
    with_model: WithModel, sent: signal.Signals
) -> None:
    swarm = with_model(Slow(0.5))
    process = started(swarm, "run", "Write and read")

    process.send_signal(sent)
    out, err = process.communicate(timeout=TWICE_TEN_SECONDS)

    assert process.returncode == 130
    assert out == ""
    assert "Ctrl-C again stops at once" in err
    assert "Write it: a result was handed in" in err
    assert err.splitlines()[-1] == "stopped; nothing is lost. Go on with: swarm work"
    assert "Traceback" not in err
    assert all(holder is None for _, holder in await left_behind(swarm.project))
    assert swarm("work").stdout == "The whole answer.\n"


async def test_a_second_ctrl_c_stops_within_a_second_and_lets_go(with_model: WithModel) -> None:
    swarm = with_model(Slow(None))
    process = started(swarm, "run", "Write and read")
    assert process.stderr is not None

    process.send_signal(signal.SIGINT)
    while "Ctrl-C again" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=TWICE_TEN_SECONDS)

    assert time.monotonic() - began < TWICE_A_SECOND
    assert process.returncode == 130
    assert "Traceback" not in err
    assert await left_behind(swarm.project) == {(WAITING, None), (PENDING, None)}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "Write and read"), "the request was not added"),
        (("run", "--plan", "Write and read"), "the request was not added"),
        (("work",), "nothing was begun"),
    ],
)
async def test_ctrl_c_while_the_server_is_checked_leaves_all_as_it_was(
    project: Path, words: tuple[str, ...], said: str
) -> None:
    swarm = Command(project)
    swarm("add", "Something to do")
    before = await left_behind(project)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(TWICE_TEN_SECONDS)
        swarm.env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        process = swarm.start(*words)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            out, err = process.communicate(timeout=TWICE_TEN_SECONDS)

    assert time.monotonic() - began < TWICE_A_SECOND
    assert process.returncode == 130
    assert (out, err) == ("", f"stopped before the model server answered; {said}\n")
    assert await left_behind(project) == before


def test_ctrl_c_at_a_terminal_leaves_it_as_it_was(with_model: WithModel) -> None:
    terminal = with_model(Slow(None)).terminal("run", "Write and read")
    terminal.wait_for("working", "executor")

    terminal.child.sendintr()
    terminal.wait_for("Ctrl-C again stops at once")
    terminal.child.sendintr()

    assert terminal.end() == 130
    assert "stopped; nothing is lost. Go on with: swarm work" in terminal.text()
    assert terminal.received.rindex(b"\x1b[?25h") > terminal.received.rindex(b"\x1b[?25l")
