"""The next version of a frozen model."""

from collections.abc import Mapping
from typing import Any, TypeVar

Model = TypeVar("Model")
_set = object.__setattr__


def evolve(model: Model, changes: Mapping[str, Any]) -> Model:
    """A copy with these fields changed; their types are trusted, as `dataclasses.replace` does.

    It validates nothing and calls no constructor: a step makes several copies, and each would
    cost more than the step's rule.
    """
    after = object.__new__(type(model))
    _set(after, "__dict__", {**model.__dict__, **changes})
    return after


def amend(draft: Model, changes: Mapping[str, Any]) -> Model:
    """Change a copy that nobody else has seen yet, in place."""
    draft.__dict__.update(changes)
    return draft
