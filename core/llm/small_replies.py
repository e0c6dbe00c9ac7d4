"""What small models may reply: bounded shapes that a server can enforce, and their reading."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.domain.critique import Advice, advice
from core.domain.plan import NewTask
from core.domain.task import Complexity
from core.errors import BadReply
from core.llm.replies import Answer, shaped

FEWEST_PARTS, MOST_PARTS = 3, 5
FEWEST_POINTS, MOST_POINTS, LONGEST_POINT = 3, 6, 200
FEWEST_DIFFERENT = 2
"""Of those that were named; one alone is no plan."""
MOST_ALIKE = 0.8
"""Two titles more alike than this are one part."""
WHAT_THIN_TEXTS_LACK = "Name concrete steps, commands, figures or names"


class Form(StrEnum):
    LIST = "list"
    CODE = "code"
    TEXT = "text"


class PlannedPart(BaseModel):
    model_config = ConfigDict(extra="ignore")

    title: str = Field(min_length=6, max_length=60)
    form: Form


class PartsReply(BaseModel):
    """A request in parts."""

    parts: list[PlannedPart] = Field(min_length=FEWEST_PARTS, max_length=MOST_PARTS)


class PointsReply(BaseModel):
    """A checklist or steps."""

    points: list[Annotated[str, Field(min_length=15, max_length=LONGEST_POINT)]] = Field(
        min_length=FEWEST_POINTS, max_length=MOST_POINTS
    )


class VerdictReply(BaseModel):
    """An opinion: the verdict first, because reasons that come first would decide it."""

    passed: bool
    suggestions: list[Annotated[str, Field(min_length=10, max_length=120)]] = Field(max_length=2)


def read_parts(text: str, request: str) -> list[NewTask]:
    """Parts that differ; what builds on code gets the code that is written first."""
    parts = _different(shaped(text, PartsReply).parts)
    if len(parts) < FEWEST_DIFFERENT:
        raise BadReply(f"its parts are all alike: name {FEWEST_PARTS} different ones")
    forms = [Form.LIST if "checklist" in request.lower() else part.form for part in parts]
    titles = [part.title.strip() for part in parts]
    first_is_code = forms[0] is Form.CODE
    return [
        NewTask(
            title=title,
            description=_not_yours(titles, number),
            key=f"t{number + 1}",
            depends_on=("t1",) if first_is_code and number else (),
            planner_tags=("review:auto", f"form:{forms[number]}"),
            complexity=Complexity.NORMAL,
        )
        for number, title in enumerate(titles)
    ]


def too_few(parts: Sequence[NewTask]) -> list[str]:
    if len(parts) >= FEWEST_PARTS:
        return []
    return [f"some parts are the same: name {FEWEST_PARTS} or more that all differ"]


def _different(parts: Sequence[PlannedPart]) -> list[PlannedPart]:
    kept: list[PlannedPart] = []
    for part in parts:
        if part.title.strip() and not _like_any(part.title, (one.title for one in kept)):
            kept.append(part)
    return kept


def _like_any(title: str, others: Iterable[str]) -> bool:
    return any(likeness(title, other) >= MOST_ALIKE for other in others)


def likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower().strip(), other.lower().strip()).ratio()


def _not_yours(titles: Sequence[str], own: int) -> str:
    return "; ".join(title for number, title in enumerate(titles) if number != own)


def form_of(tags: Iterable[str]) -> Form:
    """As the planner chose it; a text where it did not."""
    return next((form for form in Form if f"form:{form}" in tags), Form.TEXT)


def read_points(text: str) -> Answer:
    """Without a point that fills its whole room: the server has cut it in the middle."""
    points = [one for one in shaped(text, PointsReply).points if len(one) < LONGEST_POINT]
    lines = dict.fromkeys(" ".join(point.split()) for point in points)
    if len(lines) < FEWEST_POINTS:
        raise BadReply(f"it needs {FEWEST_POINTS} different points, each one short sentence")
    return Answer("\n".join(f"- {line}" for line in lines))


_GREETING = re.compile(r"\A(sure|certainly|of course|okay|ok|absolutely|great)\b[^\n]*\n+", re.I)


_ECHO = re.compile(r"^\W*(The whole text|Others write|Your part|Form)\s*:.*", re.S | re.M)


def read_written(text: str, example: str) -> Answer:
    """The part itself: no greeting, no echo of our own words, and not the example it was shown."""
    written = _ECHO.sub("", _GREETING.sub("", text.strip())).strip()
    if not written:
        raise BadReply("it is empty: write the part itself")
    if copied := _lines(written) & _lines(example):
        raise BadReply(f"{min(copied)!r} is copied from the example: write your own part")
    return Answer(written)


def _lines(text: str) -> set[str]:
    """Those long enough to be somebody's own words."""
    return {line.strip() for line in text.splitlines() if len(line.split()) > 3}


def read_verdict(text: str, limit: int) -> Advice:
    """A rejection without a word of advice still says what thin texts lack."""
    said = shaped(text, VerdictReply)
    named = list(dict.fromkeys(said.suggestions)) or [WHAT_THIN_TEXTS_LACK]
    return advice(passed=said.passed, suggestions=named, limit=limit)
