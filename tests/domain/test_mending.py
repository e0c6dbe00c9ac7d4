import pytest

from core.domain.limits import Limits
from core.domain.mending import complaints, mended
from core.domain.plan import NewTask
from core.domain.task import Kind

LIMITS = Limits(plan_tasks=3, request_tasks=4)


def task(key: str, *needs: str, kind: Kind = Kind.TASK, title: str | None = None) -> NewTask:
    name = key if title is None else title
    return NewTask(title=name, key=key, depends_on=needs, kind=kind)


def test_a_sound_plan_is_kept_as_it_is() -> None:
    plan = [task("a"), task("b", "a"), task("c", "a", "b")]

    assert complaints(plan, 0, LIMITS) == []
    assert mended(plan, 0, LIMITS) == tuple(plan)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ([], "names no task"),
        ([task("a", kind=Kind.IDEA)], "names no task"),
        ([task("a", title=" "), task("b")], "has no title"),
        ([task("a"), task("a")], "several tasks have the key 'a'"),
        ([task("a", "z")], "'z', which is no task of this plan"),
        ([task("a", "a")], "depends on itself"),
        ([task("a", "b"), task("b", kind=Kind.IDEA)], "only an idea"),
        ([task("a", "b"), task("b", "a")], "in a circle"),
        ([task("a", "b"), task("b", "c"), task("c", "a")], "in a circle"),
        ([task("a"), task("b"), task("c"), task("d")], "has 4 tasks and may have 3"),
    ],
)
def test_a_planner_is_told_what_is_wrong(plan: list[NewTask], said: str) -> None:
    assert any(said in one for one in complaints(plan, 0, LIMITS))


@pytest.mark.parametrize(
    ("plan", "kept"),
    [
        ([task("a", "z"), task("b", "a")], [("a", ()), ("b", ("a",))]),
        ([task("a", "a")], [("a", ())]),
        ([task("a", "b"), task("b", "a")], [("a", ("b",)), ("b", ())]),
        ([task("a", "a", "b"), task("b")], [("a", ("b",)), ("b", ())]),
        ([task("a"), task("b"), task("c"), task("d", "a")], [("a", ()), ("b", ()), ("c", ())]),
        ([task("a", title=""), task("b", "a")], [("b", ())]),
    ],
)
def test_what_can_be_saved_of_a_plan_is_saved(
    plan: list[NewTask], kept: list[tuple[str, tuple[str, ...]]]
) -> None:
    saved = mended(plan, 0, LIMITS)

    assert [(new.key, new.depends_on) for new in saved] == kept
    assert complaints(saved, 0, LIMITS) == []


def test_a_cut_plan_forgets_dependencies_on_what_was_cut() -> None:
    plan = [task("a", "d"), task("b"), task("c"), task("d")]

    assert mended(plan, 0, LIMITS)[0].depends_on == ()


def test_a_plan_of_nothing_but_ideas_leaves_nothing() -> None:
    assert mended([task("a", kind=Kind.IDEA)], 0, LIMITS) == ()


def test_a_request_with_many_tasks_has_room_for_fewer() -> None:
    assert len(mended([task("a"), task("b"), task("c")], 2, LIMITS)) == 2
