"""Report: what is left to say to the board when a piece of work is done."""

from collections.abc import Awaitable, Callable

Report = Callable[[], Awaitable[object]]
"""Short, and safe from a stop: the model has been paid, so the answer must not be lost."""
