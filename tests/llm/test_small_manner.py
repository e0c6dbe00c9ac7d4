"""The manner for small models: examples, bounded replies, and what is made of them."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from core.domain.critique import Critique, Opinion
from core.domain.task import FIX, WORK, Kind, Task, TaskId
from core.errors import BadReply
from core.llm.prompts import Part
from core.llm.small_manner import SMALL
from core.llm.small_replies import (
    FEWEST_PARTS,
    LONGEST_POINT,
    MOST_PARTS,
    PartsReply,
    read_parts,
    read_points,
    read_verdict,
    read_written,
)
from tests.support.tasks import make_task

REQUEST = "Write a guide to backups"


def request() -> Task:
    return Task(
        id=TaskId("r"), root=TaskId("r"), title="A guide", description=REQUEST, kind=Kind.REQUEST
    )


def part(form: str = "text", **changes: Any) -> Task:
    return make_task(
        id="t",
        root="r",
        parent="r",
        title="How to restore",
        description="What to back up; When to do it",
        planner_tags=(f"form:{form}",),
        **changes,
    )


def parts(*named: tuple[str, str]) -> str:
    return json.dumps({"parts": [{"title": title, "form": form} for title, form in named]})


def points(*said: str) -> str:
    return json.dumps({"points": said})


def last(messages: Sequence[tuple[str, str]]) -> str:
    return messages[-1][1]


def test_a_plan_is_asked_for_by_examples_in_a_shape_with_bounds() -> None:
    question = SMALL.plan("", request(), REQUEST)

    roles = [said.role for said in question.messages]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]
    assert last(question.messages) == f"Request: {REQUEST}"
    bounds = PartsReply.model_json_schema()["properties"]["parts"]
    assert (bounds["minItems"], bounds["maxItems"]) == (FEWEST_PARTS, MOST_PARTS)


def test_parts_that_are_alike_are_one_part() -> None:
    plan = read_parts(
        parts(("Ways to restore", "text"), ("What to keep", "list"), ("Ways to restore!", "text")),
        REQUEST,
    )

    assert [one.title for one in plan] == ["Ways to restore", "What to keep"]
    assert plan[0].description == "What to keep"


def test_a_plan_of_equal_parts_is_sent_back() -> None:
    with pytest.raises(BadReply, match="all alike"):
        read_parts(parts(*[("Ways to restore", "text")] * 4), REQUEST)


def test_what_follows_code_builds_on_it_and_other_parts_run_side_by_side() -> None:
    with_code = [("The script", "code"), ("A test of it", "code"), ("How to call it", "text")]
    without = [("What to keep", "text"), ("When to do it", "list"), ("Ways to restore", "text")]

    assert [one.depends_on for one in read_parts(parts(*with_code), REQUEST)] == [
        (),
        ("t1",),
        ("t1",),
    ]
    assert {one.depends_on for one in read_parts(parts(*without), REQUEST)} == {()}


def test_the_parts_of_a_checklist_are_lists_whatever_the_model_says() -> None:
    said = parts(("What to keep", "code"), ("When to do it", "text"), ("Ways to restore", "list"))

    plan = read_parts(said, "Write a checklist for backups")

    assert {one.planner_tags[-1] for one in plan} == {"form:list"}


def test_a_list_becomes_lines_without_the_point_that_was_cut() -> None:
    whole = ("Copy the folder to a disk.", "Read one file back.", "Write the date on it.")

    answer = read_points(points(*whole, "x" * LONGEST_POINT, whole[0]))

    assert answer.text == "\n".join(f"- {one}" for one in whole)


def test_a_list_of_the_same_point_is_sent_back() -> None:
    with pytest.raises(BadReply, match="different points"):
        read_points(points(*["Copy the folder to a disk."] * 4))


def test_a_text_loses_its_greeting_and_may_not_be_the_example() -> None:
    example = "An image is a package of your program.\nIt starts the same way everywhere."

    assert read_written("Sure! Here it is:\n\nCopy it back.", example).text == "Copy it back."
    echoed = "Copy it back.\n\nThe whole text: a guide\nYour part: How to restore"
    assert read_written(echoed, example).text == "Copy it back."
    with pytest.raises(BadReply, match="copied from the example"):
        read_written(f"{example}\nAnd more.", example)
    with pytest.raises(BadReply, match="empty"):
        read_written(" \n", example)


def test_an_executor_knows_the_request_its_part_and_the_parts_of_others() -> None:
    asked = last(SMALL.work("", part(), REQUEST, WORK, [Part("The script", "tar …")]).messages)

    assert asked.startswith("Already written, do not repeat it:\ntar …")
    assert f"The whole text: {REQUEST}" in asked
    assert "Others write: What to back up; When to do it" in asked
    assert "Your part: How to restore" in asked


def test_a_fix_gets_the_earlier_text_and_each_suggestion() -> None:
    critique = Critique(
        reviewer="advisor",
        opinion=Opinion.REJECTED,
        suggestions=("Name the command",),
        ts=0,
        result_hash="",
        cycle=1,
        mail=1,
    )

    task = part(result="Copy it back.", critique=critique)
    asked = last(SMALL.work("", task, REQUEST, FIX, []).messages)

    assert "Your earlier text:\nCopy it back." in asked
    assert asked.endswith("mend:\n- Name the command")


def test_what_anybody_can_see_is_rejected_without_a_model() -> None:
    seen = SMALL.seen(part(result="Use a backup program."), 3)

    assert seen is not None
    assert seen.opinion is Opinion.REJECTED
    assert seen.suggestions[0].startswith("It is too short")


def test_what_looks_sound_is_left_to_the_model() -> None:
    text = "Copy the folder back with `cp -a /mnt/backup/today/. ~/work` and open one file of each."

    assert SMALL.seen(part(result=text), 3) is None
    assert last(SMALL.advise("", part(result=text), REQUEST, 3).messages).endswith(text)


def test_a_rejection_always_says_what_to_mend() -> None:
    assert read_verdict('{"passed": true, "suggestions": []}', 3).opinion is Opinion.PASSED
    said = read_verdict('{"passed": false, "suggestions": []}', 3)
    assert said.opinion is Opinion.REJECTED
    assert said.suggestions


def test_fewer_parts_than_wished_for_are_worth_another_try_and_good_enough_after_it() -> None:
    question = SMALL.plan("", request(), REQUEST)
    two = parts(*[("Ways to restore", "text")] * 2, ("What to keep", "list"))

    plan = question.read(two)

    assert len(plan) == 2
    assert "name 3 or more" in question.doubts(plan)[0]
    assert question.doubts([*plan, plan[0]]) == []
