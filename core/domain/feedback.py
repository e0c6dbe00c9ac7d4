"""Feedback: what a person decided about a task and said to whoever works on it next."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

QUICK_ISSUES = (
    "Tests incomplete",
    "Code style issues",
    "Missing error handling",
    "Performance concerns",
    "Security issues",
)


class Decision(StrEnum):
    APPROVED = "approved"
    REDO = "redo"
    REJECTED = "rejected"
    REVOKED = "revoked"
    REOPENED = "reopened"
    ANSWERED = "answered"
    CONFLICT = "conflict"


class RedoOption(StrEnum):
    """What a redo starts from."""

    KEEP = "keep"
    FRESH = "fresh"
    CHECKPOINT = "checkpoint"


class Feedback(BaseModel):
    model_config = ConfigDict(frozen=True)

    iteration: int
    ts: float
    decision: Decision
    quick_issues: tuple[str, ...] = ()
    text: str = ""
    option: RedoOption = RedoOption.KEEP
    hint: str = "normal"
