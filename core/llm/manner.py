"""Manner: how an agent puts its questions to a model, and reads what comes back."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from core.domain.critique import Advice
from core.domain.plan import NewTask
from core.domain.task import Phase, Task
from core.llm import prompts
from core.llm.client import Said
from core.llm.prompts import Part
from core.llm.replies import AdviceReply, Answer, PlanReply, read_advice, read_answer, read_plan

Readable_co = TypeVar("Readable_co", covariant=True)


def _none(read: object) -> list[str]:
    return []


class Question(NamedTuple, Generic[Readable_co]):
    """What is asked, and how the reply is read."""

    messages: tuple[Said, ...]
    read: Callable[[str], Readable_co]
    schema: type[BaseModel] | None = None
    doubts: Callable[[Any], list[str]] = _none
    """What is worth another try, and good enough when that brings nothing better."""


class Manner(Protocol):
    def plan(self, skills: str, task: Task, request: str) -> Question[list[NewTask]]: ...

    def work(
        self, skills: str, task: Task, request: str, phase: Phase, material: Sequence[Part]
    ) -> Question[Answer]: ...

    def seen(self, task: Task, limit: int) -> Advice | None:
        """Advice that needs no model: what anybody can see at a glance."""
        ...

    def advise(self, skills: str, task: Task, request: str, limit: int) -> Question[Advice]: ...


class Full:
    """For models that follow instructions."""

    def plan(self, skills: str, task: Task, request: str) -> Question[list[NewTask]]:
        return Question(prompts.plan(skills, task, request), read_plan, PlanReply)

    def work(
        self, skills: str, task: Task, request: str, phase: Phase, material: Sequence[Part]
    ) -> Question[Answer]:
        return Question(prompts.work(skills, task, request, phase, material), read_answer)

    def seen(self, task: Task, limit: int) -> Advice | None:
        return None

    def advise(self, skills: str, task: Task, request: str, limit: int) -> Question[Advice]:
        return Question(
            prompts.advise(skills, task, request),
            lambda text: read_advice(text, limit),
            AdviceReply,
        )


FULL = Full()
