"""Tasks that are on no board, for the pure rules, and tasks of a plan."""

from typing import TypeVar

from pydantic import TypeAdapter

from core.domain.plan import NewTask
from core.domain.task import Complexity, Kind, Task

_Model = TypeVar("_Model")
_task = TypeAdapter(Task).validate_python
_new_task = TypeAdapter(NewTask).validate_python


def make_task(task_id: str = "t1", /, **fields: object) -> Task:
    """A task by itself; whatever is not named has its default."""
    return _task({"id": task_id, "root": task_id, "title": "write it", **fields})


def changed(model: _Model, **fields: object) -> _Model:
    """The same with other values in these fields."""
    return type(model)(**{**vars(model), **fields})


def part(title: str, *depends_on: str, **fields: object) -> NewTask:
    """A simple task of a plan whose key is its title."""
    named = {"complexity": Complexity.SIMPLE, "key": title, "depends_on": depends_on, **fields}
    return _new_task({"title": title, **named})


def milestone(title: str, *depends_on: str) -> NewTask:
    return part(title, *depends_on, kind=Kind.MILESTONE)
