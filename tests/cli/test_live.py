"""What a person at a terminal sees: a tree, words for every status, a bar, and no tricks."""

import asyncio
from typing import Any

import pytest

from core.cli.tree import durations, tree_lines
from core.domain.task import Complexity
from tests.cli.conftest import WithModel
from tests.support.brain import Brain, planned, rejection, role_of, title_of
from tests.support.openai_server import Answer
from tests.support.tasks import make_task

HOSTILE = "\x1b]0;owned\x07\x1b[2J[bold]Measure[/bold]\x1b[31m them\x9b31m\u202e"
PLAN = [planned("List the caches"), planned(HOSTILE, "normal", "List the caches")]


class Gates:
    """A model that stops in every role until the test opens the gate."""

    def __init__(self, *roles: str) -> None:
        self.brain = Brain(plan=PLAN, advise=lambda *_: rejection("Name the source", "Add dates"))
        self.loop: asyncio.AbstractEventLoop | None = None
        self.gates = {role: asyncio.Event() for role in roles}

    def __call__(self, asked: dict[str, Any]) -> Answer:
        self.loop = asyncio.get_running_loop()
        prompt = asked["messages"][-1]["content"]
        role = role_of(prompt)
        first = title_of(prompt) == "List the caches"
        gate = None if first and role == "work" else self.gates.get(role)
        return Answer(self.brain(asked["messages"]), wait_for=gate)

    def open(self, role: str) -> None:
        # The server lives in a thread of its own.
        assert self.loop is not None, "the server was asked"
        self.loop.call_soon_threadsafe(self.gates[role].set)


@pytest.mark.parametrize("columns", [100, 60])
def test_a_person_sees_the_tree_move_to_its_answer(with_model: WithModel, columns: int) -> None:
    model = Gates("work", "fix")
    terminal = with_model(model).terminal("run", "Compare caches", columns=columns, rows=24)

    working = terminal.wait_for("1 of 2 tasks", "working")
    model.open("work")
    mending = terminal.wait_for("mending", "2 suggestions")
    model.open("fix")
    code = terminal.end()

    assert code == 0
    chosen, request, listed, measured, bar = working.splitlines()[:5]
    assert chosen == "model: model-a"
    assert request.startswith("Compare caches ")
    assert "1 of 2 done" in request
    assert listed.startswith("├─ List the caches ")
    assert "done" in listed
    assert measured.startswith("└─ [bold]Measure[/bold] them ")
    assert "working" in measured
    assert "executor-" in measured
    assert "━" in bar
    assert "1 of 2 tasks" in bar
    assert "      advisor: 2 suggestions: Name the source" in mending
    ended = terminal.text()
    assert "The whole answer." in ended
    assert "2 tasks, 6 calls, 60 tokens, " in ended
    assert all(len(line) <= columns for line in ended.splitlines())


def test_no_title_steers_the_terminal(with_model: WithModel) -> None:
    brain = Brain(plan=PLAN, answer=lambda _: "Done \x1b]52;c;aGk=\x07\x1b[31mred")
    terminal = with_model(brain).terminal("run", HOSTILE)

    assert terminal.end() == 0
    for trick in (b"\x1b]0;", b"\x1b]52", b"\x1b[2J", b"\x07", b"\x1b[31mred", "\u202e".encode()):
        assert trick not in terminal.received
    assert "Done red" in terminal.text()


def test_a_plan_longer_than_the_screen_shows_what_moves(with_model: WithModel) -> None:
    model = Gates("work")
    model.brain.plan = [planned(f"Part {number}") for number in range(20)]
    terminal = with_model(model).terminal("run", "Many parts", rows=10)

    screen = terminal.wait_for("… and 15 more", "executor-1", "executor-3")
    model.open("work")

    _, told, request, *_ = screen.splitlines()
    assert told.startswith("swarm: a big plan: 21 calls")
    assert request.startswith("Many parts")
    assert terminal.end() == 0
    assert "The whole answer." in terminal.text()


def test_finished_tasks_give_way_where_rows_are_few() -> None:
    root = make_task(id="root", title="All")
    below = [make_task(id=f"t{n}", root="root", parent="root", title=f"Part {n}") for n in range(9)]

    lines = [line.plain for line in tree_lines([[root, *below]], 0.0, 80, rows=4)]

    assert len(lines) == 4
    assert lines[0].startswith("All")
    assert lines[-1] == "… and 7 more"


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    task = make_task(title="日本語の長いタイトル" * 9, complexity=Complexity.SIMPLE)

    assert all(line.cell_len <= width for line in tree_lines([[task]], 0.0, width))


def test_times_are_short() -> None:
    assert [durations(one) for one in (0.4, 59.9, 60, 3599, 7384)] == [
        "0 s",
        "59 s",
        "1:00",
        "59:59",
        "2 h 03",
    ]


class Typewriter:
    """Says the first half of its work, and stops before the rest until the test lets it go on."""

    def __init__(self) -> None:
        self.brain = Brain(work=lambda *_: f"The first half. {HOSTILE} The last words.")
        self.gate = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, asked: dict[str, Any]) -> Answer:
        self.loop = asyncio.get_running_loop()
        slow = role_of(asked["messages"][-1]["content"]) == "work"
        text = self.brain(asked["messages"])
        return Answer(text, pause_after=2, wait_for=self.gate if slow else None)

    def go_on(self) -> None:
        assert self.loop is not None, "the server was asked"
        self.loop.call_soon_threadsafe(self.gate.set)


def test_a_person_sees_words_while_they_are_written(with_model: WithModel) -> None:
    model = Typewriter()
    terminal = with_model(model).terminal("run", "Write it", columns=100, rows=24)

    screen = terminal.wait_for("… ", "The first half.")
    model.go_on()
    code = terminal.end()

    assert code == 0
    assert "The last words." not in screen
