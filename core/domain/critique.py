"""Critique: an advisor's opinion on one result, and what counts as a readable one."""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Opinion(StrEnum):
    PASSED = "passed"
    REJECTED = "rejected"
    NEEDS_DISCUSSION = "needs_discussion"
    UNREADABLE = "unreadable"


class Critique(BaseModel):
    """An opinion as it is kept: on which result, in which cycle, by whom."""

    model_config = ConfigDict(frozen=True)

    reviewer: str
    opinion: Opinion
    suggestions: tuple[str, ...] = ()
    comment: str = ""
    ts: float
    result_hash: str
    cycle: int
    mail: int
    late: bool = False
    """Answered another result than the current one, or after its lease: kept without effect."""

    @property
    def passed(self) -> bool:
        return self.opinion is Opinion.PASSED


class Advice(BaseModel):
    """What an advisor says, before the board knows what it is about."""

    model_config = ConfigDict(frozen=True)

    opinion: Opinion
    suggestions: tuple[str, ...] = ()
    comment: str = ""


def advice(
    *, passed: bool, suggestions: Sequence[str] = (), comment: str = "", limit: int = 3
) -> Advice:
    """A rejection that names nothing to mend can't be acted on, so it is unreadable."""
    named = tuple(text.strip() for text in suggestions if text.strip())[:limit]
    if passed:
        return Advice(opinion=Opinion.PASSED, comment=comment)
    opinion = Opinion.REJECTED if named else Opinion.UNREADABLE
    return Advice(opinion=opinion, suggestions=named, comment=comment)
