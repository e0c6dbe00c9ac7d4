"""Plans: what a new task must be, and whether a plan can ever be finished."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.limits import Limits
from core.domain.plan import (
    NewTask,
    Placing,
    check_new,
    check_no_cycle,
    check_plan,
    placed,
    resolved,
)
from core.domain.task import Complexity, Hint, Kind, Task, TaskId
from core.errors import BadPlan, RequestTooLarge
from tests.support.tasks import make_task

LIMITS = Limits()
PART = NewTask(title="a part")


def place(new: NewTask, parent: Task | None = None, limits: Limits = LIMITS) -> Task:
    return placed(new, Placing(id=TaskId("new1"), parent=parent, rank="00.", now=5.0), (), limits)


# What a plan must be


@pytest.mark.parametrize("plan", [(), (NewTask(title="perhaps", kind=Kind.IDEA),)])
def test_a_plan_that_names_no_task_is_refused(plan: tuple[NewTask, ...]) -> None:
    with pytest.raises(BadPlan, match="names no task"):
        check_plan(plan, 0, LIMITS)


def test_a_plan_has_at_most_fifty_tasks() -> None:
    check_plan([PART] * 50, 0, LIMITS)

    with pytest.raises(BadPlan, match="51 tasks and may have 50"):
        check_plan([PART] * 51, 0, LIMITS)


def test_a_request_has_at_most_two_hundred_tasks() -> None:
    check_plan([PART], 199, LIMITS)

    with pytest.raises(BadPlan, match="201 tasks and may have 200"):
        check_plan([PART], 200, LIMITS)


def test_two_tasks_of_a_plan_can_not_have_the_same_key() -> None:
    with pytest.raises(BadPlan, match="'a'"):
        check_plan([NewTask(title="one", key="a"), NewTask(title="two", key="a")], 0, LIMITS)


def test_a_plan_holds_no_request() -> None:
    with pytest.raises(BadPlan, match="request"):
        check_plan([PART, NewTask(title="ask", kind=Kind.REQUEST)], 0, LIMITS)


@pytest.mark.parametrize("title", ["", "  \n"])
def test_a_task_needs_a_title(title: str) -> None:
    with pytest.raises(BadPlan, match="title"):
        check_plan([PART, NewTask(title=title)], 0, LIMITS)


@pytest.mark.parametrize("cycles", [0, 11, -1])
def test_the_cycles_of_a_task_lie_between_one_and_ten(cycles: int) -> None:
    with pytest.raises(BadPlan, match="max_cycles"):
        check_new(NewTask(title="x", max_cycles=cycles), LIMITS)


def test_the_size_of_a_text_is_counted_in_bytes() -> None:
    check_new(NewTask(title="x", description="é" * 4), Limits(request_bytes=9))

    with pytest.raises(RequestTooLarge, match="11 bytes and may have 9"):
        check_new(NewTask(title="x", description="é" * 5), Limits(request_bytes=9))


# Dependencies


def test_a_dependency_is_a_key_of_the_plan_or_a_task_of_the_request() -> None:
    family = {TaskId("aaaa"): make_task("aaaa"), TaskId("bbbb"): make_task("bbbb")}
    new = NewTask(title="x", depends_on=("first", "bbbb", "first"))

    assert resolved(new, {"first": TaskId("aaaa")}, family) == ["aaaa", "bbbb"]


def test_an_unknown_dependency_is_refused() -> None:
    with pytest.raises(BadPlan, match="'zzzz', which is no task of this request"):
        resolved(NewTask(title="x", depends_on=("zzzz",)), {}, {})


def test_an_idea_is_nobodys_dependency() -> None:
    family = {TaskId("aaaa"): make_task("aaaa", kind=Kind.IDEA)}

    with pytest.raises(BadPlan, match="only an idea"):
        resolved(NewTask(title="x", depends_on=("aaaa",)), {}, family)


# Cycles


def family(*lines: str) -> list[Task]:
    """Tasks written as `name < parent : dependency dependency`."""
    found = []
    for line in lines:
        head, _, after = line.partition(":")
        name, _, parent = (part.strip() for part in head.partition("<"))
        found.append(make_task(name, parent=parent or None, depends_on=tuple(after.split())))
    return found


@pytest.mark.parametrize(
    "lines",
    [
        ("a : a",),
        ("a : b", "b : a"),
        ("r", "a < r : c", "b < r : a", "c < r : b"),
        ("m", "a < m : m"),
        ("m : a", "a < m"),
        # What a milestone depends on, its tasks depend on.
        ("r", "m < r : b", "c < m", "b < r : c"),
        ("r", "m < r : b", "n < m", "c < n", "b < r : c"),
        # Two milestones whose tasks wait for the other milestone.
        ("r", "m < r", "n < r", "a < m : n", "b < n : m"),
        ("r", "m < r : n", "n < r", "a < m", "b < n : a"),
    ],
)
def test_tasks_that_wait_for_each_other_are_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadPlan, match="wait for each other"):
        check_no_cycle(family(*lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("r", "a < r", "b < r : a", "c < r : a", "d < r : b c"),
        ("r", "m < r", "n < r : m", "a < m", "b < n"),
        # The tasks of two milestones may wait for each other's, task by task.
        ("r", "m < r", "n < r", "a < m", "b < n : a", "c < m : b"),
        ("r", "m < r", "n < m", "a < n", "b < m : n"),
    ],
)
def test_tasks_that_can_be_done_one_after_the_other_are_taken(lines: tuple[str, ...]) -> None:
    check_no_cycle(family(*lines))


@st.composite
def families(draw: st.DrawFn) -> list[Task]:
    size = draw(st.integers(2, 6))
    names = [f"t{number}" for number in range(size)]
    tasks = []
    for number, name in enumerate(names):
        parent = draw(st.sampled_from([None, *names[:number]])) if number else None
        depends_on = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
        tasks.append(make_task(name, parent=parent, depends_on=tuple(depends_on)))
    return tasks


def can_be_finished(tasks: list[Task]) -> bool:
    """Done by doing: start below what has started, end when all below has ended."""
    started: set[str] = set()
    ended: set[str] = set()
    for _ in range(2 * len(tasks)):
        for task in tasks:
            below = {one.id for one in tasks if one.parent == task.id}
            if (task.parent is None or task.parent in started) and ended >= set(task.depends_on):
                started.add(task.id)
            if task.id in started and ended >= below:
                ended.add(task.id)
    return len(ended) == len(tasks)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(families())
def test_a_plan_is_refused_exactly_when_it_can_never_be_finished(tasks: list[Task]) -> None:
    try:
        check_no_cycle(tasks)
        taken = True
    except BadPlan:
        taken = False

    assert taken is can_be_finished(tasks)


# Where a task goes


@pytest.mark.parametrize(
    ("depth", "kind"), [(0, Kind.MILESTONE), (1, Kind.MILESTONE), (2, Kind.TASK), (3, Kind.TASK)]
)
def test_a_milestone_deeper_than_three_levels_becomes_a_task(depth: int, kind: Kind) -> None:
    parent = make_task("m", kind=Kind.MILESTONE, depth=depth)

    assert place(NewTask(title="half", kind=Kind.MILESTONE), parent).kind is kind


def test_a_task_inherits_the_tags_of_its_parent_and_not_the_planners() -> None:
    parent = make_task("r", tags=("security", "urgent"), planner_tags=("review:auto",))

    task = place(NewTask(title="x", tags=("urgent", "docs")), parent)

    assert task.tags == ("security", "urgent", "docs")
    assert task.planner_tags == ()


def test_a_child_belongs_to_the_request_of_its_parent() -> None:
    parent = make_task("m", root="r", depth=1, root_created=3.0)

    task = place(PART, parent)

    assert (task.parent, task.root, task.depth, task.root_created) == ("m", "r", 2, 3.0)


def test_a_root_is_its_own_root() -> None:
    task = place(PART)

    assert (task.parent, task.root, task.depth, task.root_created) == (None, "new1", 0, 5.0)


@pytest.mark.parametrize(
    ("own", "parents", "hint"),
    [
        (Hint.NONE, Hint.NEXT, Hint.NEXT),
        (Hint.NONE, Hint.LATER, Hint.LATER),
        (Hint.LATER, Hint.NEXT, Hint.LATER),
        (Hint.NONE, Hint.NONE, Hint.NONE),
    ],
)
def test_a_task_has_the_hint_of_its_parent_unless_it_has_its_own(
    own: Hint, parents: Hint, hint: Hint
) -> None:
    parent = make_task("r", hint=parents)

    assert place(NewTask(title="x", hint=own), parent).hint is hint


def test_the_planner_says_the_complexity_and_words_decide_where_it_does_not() -> None:
    said = NewTask(title="audit it", complexity=Complexity.SIMPLE)

    assert place(said).complexity is Complexity.SIMPLE
    assert place(NewTask(title="write", description="and audit it")).complexity is (
        Complexity.COMPLEX
    )


def test_a_task_may_have_fewer_cycles_than_the_limit_says() -> None:
    assert place(NewTask(title="x", max_cycles=1)).max_cycles == 1
    assert place(PART, limits=Limits(max_cycles=5)).max_cycles == 5
