"""`swarm run`: from words to one answer on stdout, and everything else on stderr."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.cli.command import app
from tests.cli.conftest import WithModel
from tests.support.brain import Brain, planned, rejection
from tests.support.openai_server import Answer
from tests.support.terminal import COMMAND, HERE

TWO = [planned("List the caches"), planned("Compare them", "normal", "List the caches")]
HOSTILE = "Look \x1b]0;owned\x07\x1b[31mhere\x1b[0m"


def asks_a_person(title: str, prompt: str) -> str:
    return "Half of it.\nSTATUS: NEEDS_HUMAN\nMESSAGE: Which currency?"


def fails(title: str, prompt: str) -> str:
    return "No.\nSTATUS: ERROR\nMESSAGE: the disk is full"


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_answer_is_all_there_is_on_stdout(with_model: WithModel) -> None:
    done = with_model(Brain(plan=TWO))("run", "Compare", "caches")

    assert done.returncode == 0
    assert done.stdout == "The whole answer.\n"
    assert "planner began to plan" in done.stderr
    assert "List the caches: added" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("2 tasks, 5 calls, 50 tokens, ")


def test_advice_is_told_with_its_first_suggestion(with_model: WithModel) -> None:
    brain = Brain(plan=TWO, advise=lambda *_: rejection("name the source", "add a table"))

    done = with_model(brain)("run", "Compare caches")

    assert "asked for changes (2 suggestions: name the source)" in done.stderr


def test_json_is_a_line_per_event_and_the_result_last(with_model: WithModel) -> None:
    done = with_model(Brain(plan=TWO))("run", "--json", "Compare caches")
    *events, result = lines_of(done.stdout)

    assert done.stderr == ""
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "request_added"
    assert events[-1]["type"] == "request_closed"
    assert all(
        one.keys() == {"v", "seq", "ts", "type", "task", "request", "data"} for one in events
    )
    assert result["type"] == "result"
    assert result["exit"] == 0
    assert result["status"] == "completed"
    assert result["answer"] == "The whole answer."
    assert result["failed"] == result["needs_attention"] == result["needs_you"] == []
    assert result["usage"]["calls"] == 5


def test_quiet_leaves_the_answer_only(with_model: WithModel) -> None:
    done = with_model(Brain())("run", "-q", "Write it")

    assert done.stdout == "The result of Write it.\n"
    assert done.stderr == ""


def test_a_failed_part_is_named_and_strict_makes_it_a_failure(with_model: WithModel) -> None:
    brain = Brain(plan=TWO, work=lambda t, p: fails(t, p) if t == "Compare them" else f"{t}: done")
    swarm = with_model(brain)

    done = swarm("run", "Compare caches")
    strict = swarm("run", "--strict", "Compare caches")

    assert done.returncode == 0
    assert "1 failed" in done.stderr
    assert "Compare them" in done.stdout
    assert strict.returncode == 1


def test_a_question_ends_with_5_and_says_what_to_type(with_model: WithModel) -> None:
    done = with_model(Brain(work=asks_a_person))("run", "Write it")

    assert done.returncode == 5
    assert done.stdout == ""
    assert "1 needs you" in done.stderr
    assert "Which currency?" in done.stderr
    assert "swarm answer" in done.stderr


def test_the_answer_goes_to_a_file_too(with_model: WithModel, project: Path) -> None:
    (project / "answer.md").write_text("old")

    done = with_model(Brain())("run", "Write it", "-o", "answer.md")

    assert (project / "answer.md").read_text() == done.stdout == "The result of Write it.\n"
    assert sorted(path.name for path in project.iterdir()) == [".swarm", "answer.md"]


def test_a_follow_up_knows_the_earlier_request_and_its_answer(with_model: WithModel) -> None:
    brain = Brain()
    swarm = with_model(brain)
    first = lines_of(swarm("run", "--json", "Write about caches").stdout)[-1]["request"]

    done = swarm("run", "--follow", first[:4], "Shorter")

    assert done.returncode == 0
    prompt = brain.prompts_of("plan")[-1]
    assert prompt.index("Shorter") < prompt.index("Write about caches")
    assert prompt.index("Write about caches") < prompt.index("The result of Write it.")


def test_a_plan_is_shown_with_its_calls_and_worked_on_later(with_model: WithModel) -> None:
    brain = Brain(plan=TWO)
    swarm = with_model(brain)

    done = swarm("run", "--plan", "Compare caches")

    assert done.returncode == 0
    assert "├─ 1. List the caches (simple, 1 call)\n" in done.stdout
    assert "└─ 2. Compare them (normal, 2–3 calls, after 1)\n" in done.stdout
    assert "estimate: 4–5 calls" in done.stdout
    assert "swarm work" in done.stderr
    assert brain.roles() == ["plan"]
    assert swarm("work").stdout == "The whole answer.\n"


def test_milestones_are_planned_before_the_plan_is_shown(with_model: WithModel) -> None:
    def plan(prompt: str) -> str:
        if "Plan only the milestone" in prompt:
            return json.dumps({"tasks": [planned("Draw it"), planned("Build it", "normal")]})
        milestone = planned("The house", kind="milestone")
        return json.dumps({"tasks": [milestone, planned("The garden", "simple", "The house")]})

    brain = Brain(plan=plan)
    swarm = with_model(brain)

    done = swarm("run", "--plan", "Make a home")

    assert done.returncode == 0
    tree = done.stdout.splitlines()
    assert tree[1].startswith("├─ 1. The house (milestone, ")
    assert tree[2:5] == [
        "│  ├─ 2. Draw it (simple, 1 call)",
        "│  └─ 3. Build it (normal, 2–3 calls)",
        "└─ 4. The garden (simple, 1 call, after 1)",
    ]
    # Three pieces of work with one critique, the summary of the house, and the answer.
    assert tree[5] == "estimate: 6–7 calls, about 60–70 tokens"
    assert brain.roles() == ["plan", "plan"]
    assert swarm("work").stdout == "The whole answer.\n"
    assert brain.roles().count("plan") == 2


def test_a_named_model_is_asked(with_model: WithModel) -> None:
    asked: list[str] = []

    def talk(body: dict[str, Any]) -> Answer:
        asked.append(body["model"])
        return Answer(Brain()(body["messages"]))

    assert with_model(talk)("run", "--model", "big-one", "Write it").returncode == 0
    assert set(asked) == {"big-one"}


def test_a_closed_pipe_is_no_error(with_model: WithModel) -> None:
    swarm = with_model(Brain(plan=TWO))

    for options in ("run --json Compare", "run Compare", "run Compare 2>&1"):
        shown = subprocess.run(
            f"{' '.join(COMMAND)} {options} | head -0",
            shell=True,
            cwd=swarm.project,
            env=swarm.env,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )

        assert "Traceback" not in shown.stderr, shown.stderr
        assert "BrokenPipe" not in shown.stderr, shown.stderr


def test_a_server_that_refuses_is_one_sentence_and_the_request_stays(
    with_model: WithModel,
) -> None:
    swarm = with_model(lambda _: Answer(status=401, error={"error": {"message": "bad key"}}))

    done = swarm("run", "Write it")

    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("swarm: the model server")


def test_a_server_that_does_not_answer_is_told_before_anything_is_added(
    with_model: WithModel,
) -> None:
    swarm = with_model(Brain())
    swarm.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"

    done = swarm("run", "Write it")

    assert done.returncode == 3
    assert "does not answer" in done.stderr
    assert "the board is empty" in swarm("work").stderr


def test_hostile_titles_reach_no_log(with_model: WithModel) -> None:
    done = with_model(Brain(plan=[planned(HOSTILE)]))("run", HOSTILE)

    assert "\x1b" not in done.stderr
    assert "\x07" not in done.stderr
    assert "Look here" in done.stderr


def test_only_who_calls_a_model_loads_its_client() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "import sys, core.cli; print('openai' in sys.modules)"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )

    assert shown.stdout == "False\n"


@pytest.mark.parametrize("command", ["run", "add", "work"])
def test_help_says_what_it_does_and_how(capsys: pytest.CaptureFixture[str], command: str) -> None:
    app([command, "--help"], result_action="return_value")

    said = capsys.readouterr().out
    assert f"Usage: swarm {command} " in said
    assert f"Examples:\n  swarm {command}" in said
