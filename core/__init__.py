"""Swarm: a crew of models that plans, works, advises and answers, and loses nothing."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.app import Swarm

__all__ = ["Swarm"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that a room of the house never pulls in the whole house.
    if name == "Swarm":
        from core.app import Swarm

        return Swarm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
