"""Record and replay: the same board without a server, and a word on where a run departs."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from core import Swarm
from core.domain.task import Task
from tests.support.brain import Brain, planned, rejection
from tests.support.here import Here
from tests.support.openai_server import Answer
from tests.support.terminal import model_server

SECRET = "canary-0123456789abcdef"
PLAN = [
    planned("List"),
    planned("Audit", "complex", "List"),
    planned("Table", "normal", "List"),
    planned("Twin"),
    planned("Twin too"),
]

KEPT = (
    *("kind", "complexity", "status", "reason", "round", "iterations", "attempts", "verdict"),
    *("critique_round", "executor", "answers", "rank", "usage"),
)


def advise(title: str, prompt: str) -> Any:
    return {"passed": True} if "mended" in prompt else rejection("mend it", f"leak {SECRET}")


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Here, Path]:
    """A project with a recorded run, whose server is gone."""
    brain = Brain(plan=PLAN, advise=advise, fix=lambda title, prompt: f"{title}, mended.")
    project = tmp_path / "first"
    (project / ".swarm").mkdir(parents=True)
    file = tmp_path / "run.jsonl"
    with model_server(lambda asked: Answer(brain(asked["messages"]))) as server:
        swarm = Here(project)
        swarm.env |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": SECRET}
        done = swarm("run", f"Audit it, with {SECRET}", "--record", str(file), "-q")
        assert done.code == 0, done
    return swarm, file


def again(tmp_path: Path) -> Here:
    project = tmp_path / "again"
    (project / ".swarm").mkdir(parents=True)
    return Here(project)


def board_of(project: Path) -> list[dict[str, Any]]:
    """Every task, but for ids, times and what follows from them."""

    async def read() -> list[Task]:
        async with Swarm.open(project, env={}) as swarm, swarm.store.read() as reader:
            return await reader.all_tasks()

    tasks = anyio.run(read)
    title = {task.id: task.title for task in tasks}
    return [
        {
            "title": task.title,
            "parent": title.get(task.parent) if task.parent else None,
            "needs": [title[one] for one in task.depends_on],
            "result": (task.result or "").replace(SECRET, "[key]"),
            "critique": (task.critique.opinion, task.critique.comment) if task.critique else None,
            **{name: getattr(task, name) for name in KEPT},
        }
        for task in tasks
    ]


def test_a_replay_without_a_server_ends_with_the_same_board(
    recorded: tuple[Here, Path], tmp_path: Path
) -> None:
    first, file = recorded
    swarm = again(tmp_path)

    done = swarm("run", "--replay", str(file))

    assert done.code == 0, done
    assert done.out == "The whole answer.\n"
    assert "were not made" not in done.err
    mine, theirs = board_of(swarm.project), board_of(first.project)
    for one in theirs:
        one["title"] = one["title"].replace(SECRET, "[key]")
        one["parent"] = one["parent"] and one["parent"].replace(SECRET, "[key]")
    assert mine == theirs


def test_no_key_gets_into_a_recording(recorded: tuple[Here, Path]) -> None:
    _, file = recorded

    text = file.read_text()

    assert SECRET not in text
    assert "[key]" in text
    assert "127.0.0.1" not in text


def test_a_replay_on_a_changed_prompt_says_where_it_departs(
    recorded: tuple[Here, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, file = recorded
    swarm = again(tmp_path)
    monkeypatch.setattr("core.llm.prompts.FIX_ORDER", "Now mend it, briefly.")

    done = swarm("run", "--replay", str(file))

    assert done.code == 1
    assert "departs from the recording at call" in done.err
    assert "is 'Now mend it, briefly.'" in done.err
    assert "An advisor read your earlier result" in done.err


def test_a_recording_overwrites_nothing(recorded: tuple[Here, Path]) -> None:
    swarm, file = recorded
    before = file.read_text()
    with model_server(lambda asked: Answer("never said")) as server:
        swarm.env["OPENAI_BASE_URL"] = server.url

        done = swarm("run", "Again", "--record", str(file))

    assert done.code == 3
    assert "name a new file" in done.err
    assert file.read_text() == before


@pytest.mark.parametrize("damage", ["", "{}", "[1]", '{"swarm_recording": 99}', "not json", None])
def test_what_is_no_recording_is_refused(tmp_path: Path, damage: str | None) -> None:
    swarm = again(tmp_path)
    file = tmp_path / "run.jsonl"
    if damage is not None:
        file.write_text(damage)

    done = swarm("run", "--replay", str(file))

    assert done.code == 3, done
    assert "run.jsonl" in done.err


def test_a_cut_recording_is_replayed_as_far_as_it_goes(
    recorded: tuple[Here, Path], tmp_path: Path
) -> None:
    _, file = recorded
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:3]) + "\n")

    done = again(tmp_path)("run", "--replay", str(file))

    assert done.code == 1
    assert "departs from the recording" in done.err


def test_errors_of_the_server_are_replayed_too(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    project = tmp_path / "first"
    (project / ".swarm").mkdir(parents=True)
    brain = Brain()

    def talk(asked: dict[str, Any]) -> Answer:
        prompt = str(asked["messages"][-1]["content"])
        return (
            Answer("", refusal="I can't.")
            if "<task>" in prompt
            else Answer(brain(asked["messages"]))
        )

    with model_server(talk) as server:
        swarm = Here(project)
        swarm.env["OPENAI_BASE_URL"] = server.url
        first = swarm("run", "Do it", "--record", str(file), "-q")

    done = again(tmp_path)("run", "--replay", str(file), "-q")

    assert first.code == done.code == 1
    assert len([1 for line in file.read_text().splitlines() if "error" in json.loads(line)]) == 3
