"""Whether another process still lives: dead only when that is sure."""

import os
import subprocess
from dataclasses import replace

import pytest

from core import process
from core.process import UNKNOWN, ProcessId, surely_dead, this_process
from tests.support import children


def kill(child: subprocess.Popen[str]) -> None:
    """End a child and see it off."""
    with child:
        child.kill()
        child.communicate(timeout=30)


def test_this_process_is_not_dead() -> None:
    assert not surely_dead(str(this_process()))


def test_a_process_has_one_name_as_long_as_it_lives() -> None:
    assert this_process() == this_process()
    assert ProcessId.parse(str(this_process())) == this_process()
    assert this_process().pid == os.getpid()


def test_a_child_lives_until_it_ends() -> None:
    child = children.start("name_yourself")
    name = children.hear(child)

    while_it_runs = surely_dead(name)
    kill(child)

    assert name != str(this_process())
    assert not while_it_runs
    assert surely_dead(name)


def test_a_zombie_is_dead() -> None:
    child = children.start("name_yourself")
    name = children.hear(child)
    child.kill()

    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    dead = surely_dead(name)
    still_there = os.path.exists(f"/proc/{child.pid}")
    kill(child)

    assert still_there
    assert dead


def test_a_number_that_was_given_again_is_another_process() -> None:
    earlier = replace(this_process(), started="1")

    assert surely_dead(str(earlier))


def test_a_process_before_the_last_boot_of_this_machine_is_dead() -> None:
    earlier = replace(this_process(), boot="earlier")

    assert surely_dead(str(earlier))


GONE = 2**22 + 1
"""More than any process number Linux gives."""


def test_a_process_that_is_gone_is_dead() -> None:
    assert surely_dead(str(replace(this_process(), pid=GONE)))


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"machine": "another"},
        {"machine": "another", "boot": "another"},
        {"namespace": "another"},
        {"boot": UNKNOWN},
        {"namespace": UNKNOWN},
        {"started": UNKNOWN},
        {"machine": UNKNOWN},
    ],
    ids=str,
)
def test_where_it_can_not_be_known_nobody_is_dead(elsewhere: dict[str, str]) -> None:
    gone = replace(this_process(), pid=GONE, **elsewhere)

    assert not surely_dead(str(gone))


@pytest.mark.parametrize("name", ["", "somebody", "a/b/c/d/e", "a/b/c/1", "a/b/c/1/2/3", "////"])
def test_a_name_that_is_none_of_ours_is_not_dead(name: str) -> None:
    assert ProcessId.parse(name) is None
    assert not surely_dead(name)


def test_a_process_that_proc_hides_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hidepid the processes of other users have no folder in /proc, and still run."""
    read = process._read
    hidden = f"/proc/{os.getpid()}/stat"
    alive = str(this_process())

    monkeypatch.setattr(process, "_read", lambda path: "-" if path == hidden else read(path))

    assert not surely_dead(alive)
