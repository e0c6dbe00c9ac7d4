"""Reports: who holds a claim, and what is handed in under it."""

from typing import NamedTuple

from core.domain.task import NO_USAGE, AgentName, Usage


class Holder(NamedTuple):
    """An agent of one running process."""

    process: str
    agent: AgentName


class Work(NamedTuple):
    """What an executor hands in."""

    result: str
    message: str = ""
    quality_passed: bool | None = None
    usage: Usage = NO_USAGE


class Closing(NamedTuple):
    """What a planner closes a request or milestone with."""

    answer: str
    anything_completed: bool
    children: str
    """Fingerprint of the children the answer was written from."""
