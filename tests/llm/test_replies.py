import pytest

from core.domain.critique import Opinion
from core.domain.task import Complexity, Kind, Signal
from core.errors import BadReply
from core.llm.replies import read_advice, read_answer, read_plan, read_text


def test_a_plan_is_read_from_json_in_a_fence_with_words_around_it() -> None:
    text = (
        'Here is {my} plan:\n```json\n{"tasks": [{"key": "a", "title": "List", "complexity": '
        '"simple"}, {"title": "Compare", "depends_on": ["a"], "kind": "milestone"}]}\n```\nDone!'
    )

    first, second = read_plan(text)

    assert (first.key, first.title, first.complexity) == ("a", "List", Complexity.SIMPLE)
    assert (second.depends_on, second.kind, second.complexity) == (("a",), Kind.MILESTONE, None)


def test_a_bare_list_is_a_plan_too() -> None:
    assert [new.title for new in read_plan('[{"title": "one"}, {"title": "two"}]')] == [
        "one",
        "two",
    ]


def test_a_plan_is_read_from_lines() -> None:
    text = (
        "Sure.\n1. **TASK:** Read the file\n   COMPLEXITY: simple\n"
        "- TASK: Audit it\n  COMPLEXITY: Complex.\n  DEPENDS ON: 1\n  DESCRIPTION: all of it\n"
        "TASK: Say so"
    )

    first, second, third = read_plan(text)

    assert (first.title, first.complexity) == ("Read the file", Complexity.SIMPLE)
    assert (second.complexity, second.depends_on) == (Complexity.COMPLEX, (first.key,))
    assert second.description == "all of it"
    assert (third.title, third.complexity, third.depends_on) == ("Say so", None, ())


def test_dependencies_may_be_named_by_number_or_title() -> None:
    plan = read_plan('{"tasks": [{"title": "A"}, {"title": "B", "depends_on": ["1", "a"]}]}')

    assert plan[1].depends_on == ("t1", "t1")


def test_the_planner_tags_its_tasks_for_the_policy_unless_it_judged_itself() -> None:
    plan = read_plan(
        '{"tasks": [{"title": "A", "tags": ["docs"]}, {"title": "B", "tags": ["review:batch"]}]}'
    )

    assert plan[0].planner_tags == ("docs", "review:auto")
    assert plan[1].planner_tags == ("review:batch",)


@pytest.mark.parametrize("text", ["", "no plan here", '{"tasks": "none"}', '{"tasks": [{}]}'])
def test_what_is_no_plan_is_refused_with_a_complaint(text: str) -> None:
    with pytest.raises(BadReply) as refusal:
        read_plan(text)

    assert refusal.value.complaint


def test_advice_keeps_the_first_suggestions() -> None:
    read = read_advice('{"passed": false, "suggestions": ["a", "b", " ", "c", "d"]}', 3)

    assert (read.opinion, read.suggestions) == (Opinion.REJECTED, ("a", "b", "c"))


def test_advice_that_passes_or_calls_for_a_person_is_read() -> None:
    assert read_advice('ok: {"passed": true, "comment": "good"}', 3).opinion is Opinion.PASSED
    discussed = read_advice('{"passed": false, "needs_discussion": true, "comment": "?"}', 3)
    assert discussed.opinion is Opinion.NEEDS_DISCUSSION


@pytest.mark.parametrize(
    "text",
    ["", "looks fine to me", '{"passed": "maybe"}', '{"passed": false, "suggestions": []}', "[]"],
)
def test_advice_never_passes_by_accident(text: str) -> None:
    with pytest.raises(BadReply):
        read_advice(text, 3)


@pytest.mark.parametrize(
    ("text", "result", "status", "message"),
    [
        ("All of it.", "All of it.", Signal.COMPLETE, ""),
        ("It.\n\nSTATUS: COMPLETE\nMESSAGE: did it", "It.", Signal.COMPLETE, "did it"),
        ("It.\nMESSAGE: did it\nSTATUS: DONE\n", "It.", Signal.COMPLETE, "did it"),
        ("**STATUS:** BLOCKED\n**MESSAGE:** which one?", "", Signal.BLOCKED, "which one?"),
        ("x\nSTATUS: NEEDS_HUMAN\nMESSAGE: ask", "x", Signal.NEEDS_HUMAN, "ask"),
        ("STATUS: ERROR\nMESSAGE: no luck", "", Signal.ERROR, "no luck"),
        ("STATUS: BLOCKED\nbut I went on", "STATUS: BLOCKED\nbut I went on", Signal.COMPLETE, ""),
        ("It.\nSTATUS: PERFECT", "It.\nSTATUS: PERFECT", Signal.COMPLETE, ""),
    ],
)
def test_a_result_ends_with_its_status(
    text: str, result: str, status: Signal, message: str
) -> None:
    assert read_answer(text) == (result, status, message)


@pytest.mark.parametrize("text", ["", "  \n", "STATUS: COMPLETE\nMESSAGE: nothing to say"])
def test_an_empty_result_is_no_result(text: str) -> None:
    with pytest.raises(BadReply):
        read_answer(text)


def test_empty_words_are_refused() -> None:
    with pytest.raises(BadReply):
        read_text(" \n")
