"""The review policy: which finished work a person has to look at."""

import pytest

from core.domain import lifecycle
from core.domain.critique import Critique, Opinion
from core.domain.human_review import (
    AutoApprove,
    ReviewMode,
    ReviewRules,
    review_mode,
    why_a_person,
)
from core.domain.rules import Rules
from core.domain.task import Reason, Signal, Task, TaskStatus, Verdict, hash_of
from tests.support.tasks import make_task

RULES = ReviewRules()
AUTO = ReviewRules(default_mode=ReviewMode.AUTO)
SKIP = ReviewRules(default_mode=ReviewMode.SKIP)
MODES = tuple(ReviewMode)
FORCED = (Verdict.MAX_CYCLES_REACHED, Verdict.CHANGES_REQUESTED)
NOW = 1000.0


def done(**fields: object) -> Task:
    """A task that was worked on once, to the end."""
    return make_task(**{"signal": Signal.COMPLETE, "round_iterations": 1, **fields})


# Which mode


@pytest.mark.parametrize("mode", MODES)
def test_a_persons_tag_wins_over_labels_the_planner_and_the_default(mode: ReviewMode) -> None:
    task = make_task(tags=(f"review:{mode}", "security"), planner_tags=("review:per-task",))

    assert review_mode(task, AUTO) is mode


def test_of_two_tags_of_a_person_the_stricter_one_holds() -> None:
    task = make_task(tags=("review:skip", "review:batch"))

    assert review_mode(task, RULES) is ReviewMode.BATCH


@pytest.mark.parametrize(
    ("label", "mode"),
    [
        ("security", ReviewMode.PER_TASK),
        ("docs", ReviewMode.SKIP),
        ("trivial", ReviewMode.AUTO),
    ],
)
def test_a_label_asks_for_its_mode(label: str, mode: ReviewMode) -> None:
    assert review_mode(make_task(tags=(label,)), RULES) is mode


@pytest.mark.parametrize("looser", ["docs", "trivial"])
def test_of_several_labels_the_most_restrictive_one_holds(looser: str) -> None:
    assert review_mode(make_task(tags=(looser, "security")), RULES) is ReviewMode.PER_TASK


def test_the_planner_may_be_stricter_than_a_label() -> None:
    task = make_task(tags=("docs",), planner_tags=("review:batch",))

    assert review_mode(task, RULES) is ReviewMode.BATCH


@pytest.mark.parametrize(
    ("label", "planned"),
    [("security", "skip"), ("security", "auto"), ("security", "batch"), ("trivial", "skip")],
)
def test_the_planner_is_never_looser_than_a_label(label: str, planned: str) -> None:
    task = make_task(tags=(label,), planner_tags=(f"review:{planned}",))

    assert review_mode(task, RULES) is RULES.label_rules[label]


def test_a_label_the_planner_gives_does_not_loosen_a_persons_label() -> None:
    task = make_task(tags=("security",), planner_tags=("docs",))

    assert review_mode(task, RULES) is ReviewMode.PER_TASK


@pytest.mark.parametrize("mode", MODES)
def test_where_no_label_speaks_the_planners_tag_holds(mode: ReviewMode) -> None:
    assert review_mode(make_task(planner_tags=(f"review:{mode}",)), RULES) is mode


@pytest.mark.parametrize("planned", [("review:skip",), ("docs",), ("docs", "review:skip")])
def test_the_planner_never_skips_the_review_of_code(planned: tuple[str, ...]) -> None:
    task = make_task(code=True, planner_tags=planned)

    assert review_mode(task, RULES) is not ReviewMode.SKIP


def test_a_person_may_skip_the_review_of_code() -> None:
    assert review_mode(make_task(code=True, tags=("review:skip",)), RULES) is ReviewMode.SKIP


def test_where_nobody_says_anything_the_default_is_batch() -> None:
    assert review_mode(make_task(tags=("urgent", "review:someday")), RULES) is ReviewMode.BATCH


# Who looks


@pytest.mark.parametrize("mode", [ReviewMode.BATCH, ReviewMode.PER_TASK])
def test_batch_and_per_task_always_go_to_a_person(mode: ReviewMode) -> None:
    task = done(verdict=Verdict.APPROVED, quality_passed=True)

    assert why_a_person(task, ReviewRules(default_mode=mode)) is Reason.POLICY


@pytest.mark.parametrize("code", [False, True])
@pytest.mark.parametrize("quality", [True, None])
def test_auto_goes_on_when_everything_is_fine(code: bool, quality: bool | None) -> None:
    assert why_a_person(done(code=code, quality_passed=quality), AUTO) is None


@pytest.mark.parametrize(
    "flaw",
    [
        {"round_iterations": 4},
        {"quality_passed": False},
        {"signal": None},
        {"signal": Signal.NEEDS_HUMAN},
    ],
)
def test_auto_needs_a_person_for_any_flaw(flaw: dict[str, object]) -> None:
    assert why_a_person(done(**flaw), AUTO) is Reason.POLICY


def test_auto_goes_on_after_three_passes() -> None:
    assert why_a_person(done(round_iterations=3), AUTO) is None


def test_auto_counts_the_passes_of_this_round_only() -> None:
    assert why_a_person(done(iterations=40, round_iterations=1), AUTO) is None


def test_auto_needs_a_person_where_auto_approval_is_off() -> None:
    rules = ReviewRules(default_mode=ReviewMode.AUTO, auto_approve=AutoApprove(enabled=False))

    assert why_a_person(done(), rules) is Reason.POLICY


def test_skip_goes_on_however_many_passes_it_took() -> None:
    assert why_a_person(done(round_iterations=40), SKIP) is None


def test_skipped_code_still_needs_green_quality_commands() -> None:
    red = done(code=True, tags=("review:skip",), quality_passed=False)
    green = done(code=True, tags=("review:skip",), quality_passed=True)

    assert why_a_person(red, RULES) is Reason.POLICY
    assert why_a_person(green, RULES) is None


# Forced is not failed


@pytest.mark.parametrize("verdict", FORCED)
@pytest.mark.parametrize("rules", [AUTO, SKIP])
def test_forced_text_is_completed_and_needs_attention(verdict: Verdict, rules: ReviewRules) -> None:
    changes = lifecycle.settle(done(verdict=verdict), Rules(review=rules), NOW)

    assert changes["status"] is TaskStatus.COMPLETED
    assert changes["needs_attention"] is True


@pytest.mark.parametrize("verdict", FORCED)
@pytest.mark.parametrize("rules", [AUTO, SKIP])
def test_forced_code_goes_to_a_person(verdict: Verdict, rules: ReviewRules) -> None:
    task = done(code=True, quality_passed=True, verdict=verdict)

    changes = lifecycle.settle(task, Rules(review=rules), NOW)

    assert changes == {"status": TaskStatus.HUMAN_REVIEW, "reason": Reason.FORCED}


@pytest.mark.parametrize("mode", [ReviewMode.BATCH, ReviewMode.PER_TASK])
def test_forced_text_under_batch_or_per_task_goes_to_a_person(mode: ReviewMode) -> None:
    rules = Rules(review=ReviewRules(default_mode=mode))

    changes = lifecycle.settle(done(verdict=Verdict.MAX_CYCLES_REACHED), rules, NOW)

    assert changes["status"] is TaskStatus.HUMAN_REVIEW
    assert "needs_attention" not in changes


@pytest.mark.parametrize("verdict", [None, Verdict.APPROVED, Verdict.REVISED])
def test_what_was_not_forced_needs_no_attention(verdict: Verdict | None) -> None:
    changes = lifecycle.settle(done(verdict=verdict), Rules(review=AUTO), NOW)

    assert changes["needs_attention"] is False


# Trust


def reviewed(opinion: Opinion, rules: ReviewRules) -> Task:
    task = done(status=TaskStatus.REVIEW, result="r", result_hash=hash_of("r"), review_mail=1)
    critique = Critique(
        reviewer="eve", opinion=opinion, ts=NOW, result_hash=hash_of("r"), cycle=1, mail=1
    )
    return lifecycle.add_critique(task, critique, Rules(review=rules), NOW)


ASKS = [
    (Opinion.UNREADABLE, Reason.UNREADABLE),
    (Opinion.NEEDS_DISCUSSION, Reason.NEEDS_DISCUSSION),
]


@pytest.mark.parametrize(("opinion", "reason"), ASKS)
@pytest.mark.parametrize("rules", [AUTO, SKIP])
def test_advice_that_asks_for_a_person_gets_one_even_under_skip(
    opinion: Opinion, reason: Reason, rules: ReviewRules
) -> None:
    task = reviewed(opinion, rules)

    assert (task.status, task.reason) == (TaskStatus.HUMAN_REVIEW, reason)


@pytest.mark.parametrize(("opinion", "_reason"), ASKS)
def test_with_trust_skipped_work_goes_on_all_the_same(opinion: Opinion, _reason: Reason) -> None:
    rules = ReviewRules(default_mode=ReviewMode.SKIP, trust=True)

    assert reviewed(opinion, rules).status is TaskStatus.COMPLETED


@pytest.mark.parametrize(("opinion", "reason"), ASKS)
def test_trust_helps_only_work_that_is_skipped(opinion: Opinion, reason: Reason) -> None:
    rules = ReviewRules(default_mode=ReviewMode.AUTO, trust=True)

    assert reviewed(opinion, rules).reason is reason
