"""The review policy: which finished work a person has to look at."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from core.domain.task import Reason, Signal, Task, Verdict


class ReviewMode(StrEnum):
    PER_TASK = "per-task"
    BATCH = "batch"
    AUTO = "auto"
    SKIP = "skip"


_STRICTEST_FIRST = tuple(ReviewMode)
_BY_TAG = {f"review:{mode.value}": mode for mode in ReviewMode}


class AutoApprove(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(default=True, description="May work be accepted without a person?")
    max_iterations: int = Field(
        default=3, ge=1, description="More passes than this in a round need a person."
    )


class ReviewRules(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    default_mode: ReviewMode = Field(
        default=ReviewMode.BATCH, description="Who looks where no tag and no label says it."
    )
    auto_approve: AutoApprove = AutoApprove()
    label_rules: dict[str, ReviewMode] = Field(
        default={
            "security": ReviewMode.PER_TASK,
            "docs": ReviewMode.SKIP,
            "trivial": ReviewMode.AUTO,
        },
        description="The review mode a label asks for.",
    )
    advice: bool = Field(default=True, description="Off: no advisor is asked.")
    trust: bool = Field(
        default=False, description="With skip, even advice that can't be read needs no person."
    )


def review_mode(task: Task, rules: ReviewRules) -> ReviewMode:
    """A person's tag wins; the planner may be stricter than a label, never looser."""
    if not task.tags and not task.planner_tags:
        return rules.default_mode
    if chosen := _tagged(task.tags):
        return _strictest(chosen)
    labelled = _labelled(task.tags, rules)
    planned = _labelled(task.planner_tags, rules) + _tagged(task.planner_tags)
    if task.code:
        # Plans are model output: they never take the person away from code.
        planned = [mode for mode in planned if mode is not ReviewMode.SKIP] or (
            [ReviewMode.AUTO] if planned else []
        )
    modes = labelled + planned
    return _strictest(modes) if modes else rules.default_mode


def _labelled(tags: tuple[str, ...], rules: ReviewRules) -> list[ReviewMode]:
    return [rules.label_rules[tag] for tag in tags if tag in rules.label_rules]


def _tagged(tags: tuple[str, ...]) -> list[ReviewMode]:
    return [_BY_TAG[tag] for tag in tags if tag in _BY_TAG]


def _strictest(modes: list[ReviewMode]) -> ReviewMode:
    return min(modes, key=_STRICTEST_FIRST.index)


_BY_A_PERSON = frozenset({ReviewMode.PER_TASK, ReviewMode.BATCH})
_SKIP, _DONE = ReviewMode.SKIP, Signal.COMPLETE

FORCED = frozenset({Verdict.MAX_CYCLES_REACHED, Verdict.CHANGES_REQUESTED})


def why_a_person(task: Task, rules: ReviewRules) -> Reason | None:
    """Why a person has to look at this finished work, or None when it may go on."""
    mode = review_mode(task, rules)
    if mode in _BY_A_PERSON:
        return Reason.POLICY
    if task.code and task.verdict in FORCED:
        return Reason.FORCED
    if mode is _SKIP:
        return Reason.POLICY if task.code and task.quality_passed is False else None
    return None if _auto_approvable(task, rules.auto_approve) else Reason.POLICY


def _auto_approvable(task: Task, auto: AutoApprove) -> bool:
    return (
        auto.enabled
        and task.round_iterations <= auto.max_iterations
        and task.quality_passed is not False
        and task.signal is _DONE
    )
