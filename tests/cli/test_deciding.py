"""`swarm cancel`, `retry`, `answer`, `approve`, `redo`, `reject`: one step each, or none."""

import json
from pathlib import Path

import pytest

from core.domain.task import Complexity, Signal, Task, TaskStatus
from tests.cli.conftest import WithModel
from tests.support.board import BATCH, House
from tests.support.brain import Brain, planned
from tests.support.database import everything_in
from tests.support.here import Here
from tests.support.stories import fail, finish


@pytest.fixture
def swarm(project: Path) -> Here:
    return Here(project)


async def to_review(house: House) -> Task:
    return await finish(house, await house.add("Write it", complexity=Complexity.SIMPLE))


async def asking(house: House) -> Task:
    await house.add("Ask around", complexity=Complexity.SIMPLE)
    return await house.board.signal(await house.claim(), Signal.NEEDS_HUMAN, "Which region?")


async def failed(house: House) -> Task:
    return await fail(house, await house.add("Lose it"))


def now(swarm: Here, task: Task) -> Task:
    async def look(house: House) -> Task:
        return await house.task(task)

    return swarm.arranged(look, BATCH)


def test_an_answer_sends_the_task_back_to_work_with_your_words(swarm: Here) -> None:
    task = swarm.arranged(asking, BATCH)

    done = swarm("answer", task.id, "Europe")

    assert done.out == (
        f"{task.id} Ask around: goes on with your answer; now ready.\n"
        "Next: swarm work goes on with it.\n"
    )
    after = now(swarm, task)
    assert after.status is TaskStatus.PENDING
    assert after.feedback is not None
    assert after.feedback.text == "Europe"


def test_an_empty_answer_to_a_question_is_refused_with_the_question(swarm: Here) -> None:
    task = swarm.arranged(asking, BATCH)

    done = swarm("answer", task.id)

    assert done.code == 2
    assert "Which region?" in done.err
    assert now(swarm, task).status is TaskStatus.BLOCKED


def test_approving_many_is_all_or_nothing(swarm: Here) -> None:
    async def two(house: House) -> tuple[Task, Task]:
        return await to_review(house), await asking(house)

    good, bad = swarm.arranged(two, BATCH)

    done = swarm("approve", good.id, bad.id)

    assert done.code == 1
    assert now(swarm, good).status is TaskStatus.HUMAN_REVIEW


def test_approved_work_is_done(swarm: Here) -> None:
    task = swarm.arranged(to_review, BATCH)

    done = swarm("approve", task.id[:3], "-m", "fine")

    assert done.out.splitlines() == [
        f"{task.id} Write it: approved; now done.",
        "Nothing more is to be done.",
    ]


def test_redo_and_reject_carry_what_you_said(swarm: Here) -> None:
    task = swarm.arranged(to_review, BATCH)

    assert swarm("reject", task.id, "-m", "not it").code == 0
    rejected = now(swarm, task)
    assert swarm("answer", task.id, "with sources").code == 0

    assert (rejected.status, now(swarm, task).round) == (TaskStatus.BLOCKED, 2)
    assert rejected.feedback is not None
    assert rejected.feedback.text == "not it"


def test_a_failed_task_is_tried_again(swarm: Here) -> None:
    task = swarm.arranged(failed, BATCH)

    assert swarm("retry", task.id).code == 0

    assert now(swarm, task).status is TaskStatus.PENDING


def test_a_cancelled_task_is_settled(swarm: Here) -> None:
    task = swarm.arranged(failed, BATCH)

    done = swarm("cancel", task.id, "--json")

    said = json.loads(done.out)
    assert said["tasks"][0]["status"] == "cancelled"
    assert said["next"] == "Nothing more is to be done."


@pytest.mark.parametrize(
    "words",
    [
        ("cancel", "{}"),
        ("retry", "{}"),
        ("answer", "{}", "words"),
        ("approve", "{}"),
        ("reject", "{}", "-m", "words"),
    ],
)
def test_an_illegal_step_is_one_sentence_and_changes_nothing(
    swarm: Here, words: tuple[str, ...]
) -> None:
    async def done_already(house: House) -> Task:
        return await to_review(house)

    task = swarm.arranged(done_already)
    before = everything_in(swarm.project / ".swarm")

    done = swarm(*(word.format(task.id) for word in words))

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"swarm: task '{task.id}' is completed, so ")
    assert done.err.count("\n") == 1
    assert everything_in(swarm.project / ".swarm") == before


def test_a_redo_without_words_is_refused(swarm: Here) -> None:
    task = swarm.arranged(to_review, BATCH)

    assert swarm("redo", task.id, "-m", "  ").code == 2
    assert swarm("redo", task.id).code == 2
    assert now(swarm, task).status is TaskStatus.HUMAN_REVIEW


def test_a_person_answers_and_the_crew_ends_the_request(with_model: WithModel) -> None:
    def work(title: str, prompt: str) -> str:
        said = "Done." if "In euros" in prompt else "Half."
        status = "COMPLETE" if "In euros" in prompt else "NEEDS_HUMAN"
        return f"{said}\nSTATUS: {status}\nMESSAGE: Which currency?"

    swarm = with_model(Brain(plan=[planned("Price them")], work=work))

    stopped = swarm("run", "Price the caches")
    need = json.loads(swarm("status", "--json").stdout)["needs_you"][0]
    answered = swarm("answer", need["task"], "In euros")
    worked = swarm("work")

    assert stopped.returncode == 5
    assert need["why"] == "Which currency?"
    assert answered.stdout.endswith("Next: swarm work goes on with it.\n")
    assert worked.returncode == 0
    assert json.loads(swarm("status", "--json").stdout)["open_requests"] == 0
