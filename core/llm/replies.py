"""What we accept back from a model: shapes, and reading them out of what it really wrote."""

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.domain.critique import Advice, Opinion, advice
from core.domain.plan import NewTask
from core.domain.task import Complexity, Kind, Signal
from core.errors import BadReply

Shape = TypeVar("Shape", bound=BaseModel)


class PlannedTask(BaseModel):
    model_config = ConfigDict(extra="ignore")

    key: str = Field(default="", description="A short name others depend on, such as t1.")
    title: str = Field(description="What is to be done, in a few words.")
    description: str = Field(default="", description="All an executor needs to know to do it.")
    kind: Literal["task", "milestone", "idea"] = "task"
    complexity: Literal["simple", "normal", "complex"] | None = None
    depends_on: list[str] = Field(default=[], description="Keys of tasks whose results it needs.")
    tags: list[str] = []


class PlanReply(BaseModel):
    """A plan; a request that needs no team is a plan of one task."""

    tasks: list[PlannedTask]


class AdviceReply(BaseModel):
    """An advisor's opinion."""

    passed: bool
    suggestions: list[str] = Field(default=[], description="At most three concrete fixes.")
    comment: str = ""
    needs_discussion: bool = Field(default=False, description="Only a person can decide this.")


class Answer(NamedTuple):
    """What an executor hands in."""

    text: str
    status: Signal = Signal.COMPLETE
    message: str = ""


def read_plan(text: str) -> list[NewTask]:
    """From JSON, or from TASK: and COMPLEXITY: lines."""
    try:
        planned = shaped(text, PlanReply, _as_plan).tasks
    except BadReply:
        planned = _planned_lines(text)
        if not planned:
            raise
    return [_new_task(one, number) for number, one in enumerate(_named(planned), 1)]


def _as_plan(found: Any) -> Any:
    return {"tasks": found} if isinstance(found, list) else found


def _named(planned: list[PlannedTask]) -> list[PlannedTask]:
    """Each with a key, so that numbers and titles may be named as dependencies too."""
    names: dict[str, str] = {}
    for number, one in enumerate(planned, 1):
        one.key = one.key.strip() or f"t{number}"
        for name in (str(number), f"t{number}", one.title.strip().lower()):
            names.setdefault(name, one.key)
    keys = {one.key for one in planned}
    for one in planned:
        wanted = (name.strip() for name in one.depends_on)
        one.depends_on = [
            name if name in keys else names.get(name.lower(), name) for name in wanted
        ]
    return planned


def _new_task(one: PlannedTask, number: int) -> NewTask:
    tags = tuple(tag.strip() for tag in one.tags if tag.strip())
    judged = any(tag.startswith("review:") for tag in tags)
    return NewTask(
        title=one.title.strip()[:200],
        description=one.description.strip(),
        kind=Kind(one.kind),
        key=one.key or f"t{number}",
        depends_on=tuple(one.depends_on),
        planner_tags=tags if judged else (*tags, "review:auto"),
        complexity=None if one.complexity is None else Complexity(one.complexity),
    )


_LINE = re.compile(
    r"^[\s>*#\-\d.)]*(TASK|COMPLEXITY|DEPENDS(?:[ _]ON)?|DESCRIPTION)\s*:\s*(.*)$", re.I
)


def _planned_lines(text: str) -> list[PlannedTask]:
    planned: list[PlannedTask] = []
    for line in text.splitlines():
        found = _LINE.match(line.replace("**", ""))
        if found is None:
            continue
        word, said = found[1].upper(), found[2].strip()
        if word == "TASK" and said:
            planned.append(PlannedTask(title=said))
        elif planned and word == "COMPLEXITY":
            level = said.lower().split()[0].strip(".,") if said else ""
            if level in ("simple", "normal", "complex"):
                planned[-1].complexity = level  # type: ignore[assignment]
        elif planned and word == "DESCRIPTION":
            planned[-1].description = said
        elif planned and said.lower() not in ("", "none", "-"):
            planned[-1].depends_on = [part.strip() for part in said.split(",") if part.strip()]
    return planned


def read_advice(text: str, limit: int) -> Advice:
    """A rejection that names nothing to mend can't be read either."""
    said = shaped(text, AdviceReply)
    if said.needs_discussion and not said.passed:
        return Advice(opinion=Opinion.NEEDS_DISCUSSION, comment=said.comment)
    opinion = advice(
        passed=said.passed, suggestions=said.suggestions, comment=said.comment, limit=limit
    )
    if opinion.opinion is Opinion.UNREADABLE:
        raise BadReply("it rejects the result and suggests nothing to mend")
    return opinion


_STATUS = re.compile(r"^[\s*_#>`]*STATUS[\s*_`]*:[\s*_`]*([A-Z_]+)[\s*_`.]*$", re.I)
_MESSAGE = re.compile(r"^[\s*_#>`]*MESSAGE[\s*_`]*:[\s*_`]*(.*?)[\s*_`]*$", re.I)
_STATUSES = {signal.value: signal for signal in Signal} | {"DONE": Signal.COMPLETE}


def read_answer(text: str) -> Answer:
    """The result, and the STATUS and MESSAGE lines it ends with; without them it is complete."""
    lines = text.strip().splitlines()
    status, message = Signal.COMPLETE, ""
    for _ in range(2):
        while lines and not lines[-1].strip(" `*-_"):
            lines.pop()
        if not lines:
            break
        if (found := _STATUS.match(lines[-1])) and found[1].upper() in _STATUSES:
            status = _STATUSES[found[1].upper()]
        elif found := _MESSAGE.match(lines[-1]):
            message = found[1]
        else:
            break
        lines.pop()
    result = "\n".join(lines).strip()
    if status is Signal.COMPLETE and not result:
        raise BadReply("it is empty: write the result itself, then the STATUS line")
    return Answer(result, status, message)


def read_text(text: str) -> str:
    """Plain words, of which there must be some."""
    if not text.strip():
        raise BadReply("it is empty")
    return text.strip()


def shaped(
    text: str, shape: type[Shape], adapt: Callable[[Any], Any] = lambda found: found
) -> Shape:
    """The first JSON in the text that has this shape; models wrap it in words and fences."""
    complaint = "it holds no JSON"
    for found in _json_values(text):
        try:
            return shape.model_validate(adapt(found))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "it"
            complaint = f"{where}: {first['msg'].lower()}"
    raise BadReply(complaint)


_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()


def _json_values(text: str) -> list[Any]:
    at = 0
    values: list[Any] = []
    while (found := _OPENING.search(text, at)) is not None and len(values) < 50:
        try:
            value, at = _DECODER.raw_decode(text, found.start())
            values.append(value)
        except (ValueError, RecursionError):
            at = found.start() + 1
    return values
