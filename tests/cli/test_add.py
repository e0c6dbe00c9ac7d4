"""`swarm add` and `swarm work`: queue now, work later, and know what needs you."""

import json
from typing import Any

from tests.cli.conftest import WithModel
from tests.support.brain import Brain
from tests.support.terminal import Command


def added(swarm: Command, *words: str) -> dict[str, Any]:
    done = swarm("add", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_id_is_all_there_is_on_stdout(swarm: Command) -> None:
    done = swarm("add", "Write it")

    assert done.stdout.strip() in done.stderr
    assert done.stderr.endswith("work on it with: swarm work\n")


def test_an_empty_board_says_what_to_do(swarm: Command) -> None:
    told, as_json = swarm.in_turn([["work"], ["work", "--json"]])

    assert told.returncode == 0
    assert told.stderr == 'nothing to do: the board is empty; add something: swarm add "…"\n'
    result = json.loads(as_json.stdout)
    assert (result["type"], result["exit"], result["request"]) == ("result", 0, None)


def test_options_of_a_task_make_it_one_and_dependencies_take_beginnings_of_ids(
    swarm: Command,
) -> None:
    first = added(swarm, "Write it", "--tag", "docs")
    task = added(swarm, "Read", "it", "--complexity", "simple", "--depends-on", first["id"])

    assert (first["kind"], first["tags"]) == ("request", ["docs"])
    assert (task["kind"], task["complexity"]) == ("task", "simple")
    assert task["depends_on"] == [first["id"]]
    look, improve = swarm.in_turn(
        [
            ["add", "--json", "Look", "-a"],
            ["add", "--json", "Look", "--max-cycles", "2", "-t", "improve"],
        ]
    )
    assert json.loads(look.stdout)["kind"] == json.loads(improve.stdout)["kind"] == "task"
    assert json.loads(improve.stdout)["type"] == "improve"


def test_what_was_added_is_worked_on_and_each_answer_has_its_heading(
    with_model: WithModel,
) -> None:
    brain = Brain()
    swarm = with_model(brain)
    first = added(swarm, "Write about caches")["id"]
    task = added(swarm, "Shorten it", "--task", "--tag", "review:auto", "--depends-on", first[:4])[
        "id"
    ]

    done = swarm("work")

    assert done.returncode == 0
    assert f"== Write about caches ({first}) ==\nThe result of Write it.\n" in done.stdout
    assert f"== Shorten it ({task}) ==\nThe result of Shorten it.\n" in done.stdout
    assert "The result of Write it." in brain.prompts_of("work", "Shorten it")[0]
    assert "every request on it is finished" in swarm("work").stderr


def test_work_says_what_needs_a_person_and_ends_with_5(with_model: WithModel) -> None:
    swarm = with_model(Brain())
    task = added(swarm, "Write it", "--task", "--complexity", "simple")["id"]

    first, again = swarm("work"), swarm("work", "--json")

    assert first.returncode == again.returncode == 5
    assert f"needs you: {task} Write it" in first.stderr
    assert f"swarm approve {task}" in first.stderr
    result = json.loads(again.stdout.splitlines()[-1])
    assert result["needs_you"][0]["task"] == task
