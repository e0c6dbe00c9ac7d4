"""`swarm status`, `show`, `mail`, `agents`: what a person sees of the board."""

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from core.domain.reply import KeptReply
from core.domain.task import AgentName, Complexity, Signal, Task, Usage
from tests.support.board import BATCH, House
from tests.support.here import Here
from tests.support.paid import paid
from tests.support.stories import fail, finish
from tests.support.tasks import part

HOSTILE = "\x1b]0;owned\x07\x1b[31m[bold]red[/bold] [/x] \u202e\x9b2Jend"
HARMLESS = "[bold]red[/bold] [/x] end"


@pytest.fixture
def swarm(project: Path) -> Here:
    return Here(project)


async def a_busy_board(house: House) -> list[Task]:
    request, (first, second) = await house.planned(part("List them"), part("Compare", "List them"))
    await finish(house, first)
    house.clock.jump(1)
    queued = await house.add("Ask around", complexity=Complexity.SIMPLE)
    await house.board.signal(await house.claim(), Signal.NEEDS_HUMAN, "Which region?")
    return [request, first, second, queued]


def test_an_empty_project_is_told_how_to_begin_and_gets_no_files(project: Path) -> None:
    (project / ".swarm").rmdir()

    done = Here(project)("status")

    assert (done.code, done.err) == (0, "")
    assert done.out == 'Nothing was asked for yet. Begin with: swarm run "what you want"\n'
    assert list(project.iterdir()) == []


def test_status_begins_with_what_needs_you_and_the_words_to_type(swarm: Here) -> None:
    request, first, second, queued = swarm.arranged(a_busy_board)

    lines = swarm("status").out.splitlines()

    assert lines[1:5] == [
        "Needs you (1)",
        f"  {second.id}  Compare",
        "        Which region?",
        f'        swarm answer {second.id} "…"',
    ]
    text = "\n".join(lines)
    assert text.index("Needs you") < text.index("Open requests")
    assert f"  {request.id}  a request" in text
    assert f"  ├─ {first.id}  List them" in text
    assert "1 of 2 done" in text
    assert f"  {queued.id}  Ask around" in text
    assert lines[-1] == "3 tasks: 1 waiting to begin, 1 done, 1 blocked."


@pytest.mark.parametrize("columns", [100, 60, 40])
def test_no_line_of_status_is_wider_than_the_terminal(project: Path, columns: int) -> None:
    swarm = Here(project, columns)

    async def long_titles(house: House) -> None:
        await house.planned(part("A title that goes on and on " * 5), part("漢字" * 60))

    swarm.arranged(long_titles)

    assert max(cell_len(line) for line in swarm("status").out.splitlines()) <= columns


def test_finished_requests_are_one_line_until_they_are_asked_for(swarm: Here) -> None:
    async def story(house: House) -> Task:
        return await finish(house, await house.add("Done thing", complexity=Complexity.SIMPLE))

    task = swarm.arranged(story)

    assert "Nothing is open." in swarm("status").out
    assert "1 finished request: swarm status --all" in swarm("status").out
    assert f"  {task.id}  Done thing" in swarm("status", "--all").out


def test_a_failed_request_is_shown_with_the_way_to_try_again(swarm: Here) -> None:
    async def story(house: House) -> Task:
        return await fail(house, await house.add("Lost thing"))

    task = swarm.arranged(story)

    out = swarm("status").out
    assert "Failed (1)" in out
    assert "it can't be done" in out
    assert f"swarm retry {task.id}" in out


def test_status_as_json_is_one_object_with_the_same_tree(swarm: Here) -> None:
    request, _, second, queued = swarm.arranged(a_busy_board)

    board = json.loads(swarm("status", "--json").out)

    assert board["v"] == 1
    assert [one["id"] for one in board["requests"]] == [request.id, queued.id]
    assert board["requests"][0]["below"][1]["doing"] == "asks you"
    assert board["needs_you"][0]["commands"][0] == f'swarm answer {second.id} "…"'


def test_show_tells_the_story_of_a_task_from_a_prefix_of_its_id(swarm: Here) -> None:
    async def story(house: House) -> Task:
        task = await house.add("Write it", description="Write it\n\nwith care")
        await house.submit("first try")
        await house.advise(passed=False)
        await house.fix("second try")
        return await house.board.people.redo(task.id, "shorter, please")

    task = swarm.arranged(story)

    out = swarm("show", task.id[:2].upper()).out
    for piece in (
        f"{task.id}  task, ready",
        "with care",
        "eve asked for changes",
        "- name the source",
        "shorter, please",
        "second try",
        "ada began to mend what the advisor named",
        "2 working passes",
        "round 2",
        "no calls yet",
    ):
        assert piece in out


def test_show_of_a_request_has_its_answer_and_its_earlier_ones(swarm: Here) -> None:
    async def story(house: House) -> Task:
        request, (only,) = await house.planned(part("one"))
        await finish(house, only)
        await house.close_out("the first answer")
        await house.board.people.redo(request.id, "again")
        await house.close_out("the second answer")
        return request

    out = swarm("show", swarm.arranged(story).id).out

    assert out.index("Answer, version 1") < out.index("the first answer")
    assert out.index("version 2 (the current one)") < out.index("the second answer")


async def with_a_call(house: House) -> Task:
    task = await house.add(HOSTILE, complexity=Complexity.SIMPLE)
    reply = KeptReply(
        task=task.id,
        root=task.root,
        label="work",
        agent=AgentName("ada"),
        model="small-1",
        key="k",
        prompt=json.dumps([["system", "be brief"], ["user", f"say {HOSTILE}"]]),
        text=f"said {HOSTILE}",
        usage=Usage(input_tokens=1200, output_tokens=34),
    )
    await house.board.replies.keep(reply, paid(reply))
    await house.board.signal(await house.claim(), Signal.BLOCKED, HOSTILE)
    return task


def test_prompts_are_what_was_sent_and_what_came_back(swarm: Here) -> None:
    task = swarm.arranged(with_a_call)

    out = swarm("show", task.id, "--prompts").out
    calls = json.loads(swarm("show", task.id, "--prompts", "--json").out)["calls"]

    assert "Call 1 of 1: work" in out
    assert "small-1" in out
    assert "1,200 in, 34 out" in out
    assert out.index("be brief") < out.index("say ") < out.index("said ")
    assert calls[0]["messages"][0] == ["system", "be brief"]


@pytest.mark.parametrize("command", ["status", "show", "show --prompts"])
def test_text_from_outside_has_no_power_over_the_terminal(swarm: Here, command: str) -> None:
    task = swarm.arranged(with_a_call)

    words = command.split()
    out = swarm(words[0], *([task.id] if words[0] == "show" else []), *words[1:]).out

    assert HARMLESS in out
    assert not any(letter in out for letter in "\x1b\x07\x9b\u202e")


def test_open_mail_has_its_task_and_its_tries(swarm: Here) -> None:
    async def story(house: House) -> Task:
        task = await house.add("Write it")
        await house.submit()
        return task

    task = swarm.arranged(story)

    out = swarm("mail").out.splitlines()
    assert out[0].split() == ["mail", "task", "to", "state", "tries", "age"]
    assert out[1].split()[:6] == ["1", task.id, "Write", "it", "advisor", "waiting"]
    letters = json.loads(swarm("mail", "--json").out)["letters"]
    assert [(one["number"], one["task"], one["tries"]) for one in letters] == [(1, task.id, 0)]


def test_handled_mail_is_shown_when_asked_for(swarm: Here) -> None:
    async def story(house: House) -> None:
        await house.add()
        await house.submit()
        await house.advise(passed=True)

    swarm.arranged(story)

    assert swarm("mail").out == "No mail is open (1 handled: swarm mail --all).\n"
    assert "handled" in swarm("mail", "--all").out.splitlines()[1]


def test_agents_are_listed_with_the_file_they_come_from(swarm: Here) -> None:
    (swarm.project / ".swarm" / "agents.yaml").write_text(
        "advice: off\nagents:\n  pat: {role: planner, model: big-1}\n  ada: {role: executor}\n"
    )

    out = swarm("agents").out

    assert [line.split()[:3] for line in out.splitlines()[1:3]] == [
        ["pat", "planner", "big-1"],
        ["ada", "executor", "the"],
    ]
    assert str(swarm.project / ".swarm" / "agents.yaml") in out
    assert [one["name"] for one in json.loads(swarm("agents", "--json").out)["agents"]] == [
        "pat",
        "ada",
    ]


def test_work_that_waits_for_review_names_its_three_ways(swarm: Here) -> None:
    async def story(house: House) -> Task:
        return await finish(house, await house.add(complexity=Complexity.SIMPLE))

    task = swarm.arranged(story, BATCH)

    out = swarm("show", task.id).out
    for way in ("approve {}", 'redo {} -m "…"', 'reject {} -m "…"'):
        assert f"  swarm {way.format(task.id)}\n" in out
