"""LLM: what the crew asks of any model, and what comes back."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel

from core.domain.task import NO_USAGE, Usage


class Said(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Bill:
    """What the tries of one call came to, the failed ones too."""

    __slots__ = ("tries", "unknown")

    def __init__(self) -> None:
        self.tries: list[tuple[str, Usage]] = []
        """The model that was asked, and what its server counted."""
        self.unknown = 0
        """Tries that were sent and ended before the server said what it counted."""

    async def renew(self) -> None:
        """Before another try of a call of which one may have cost something."""


class Call(NamedTuple):
    """One question to a model."""

    model: str
    messages: tuple[Said, ...]
    schema: type[BaseModel] | None = None
    """The shape the reply should have; a server may ignore it, so the reply is checked anyway."""
    max_output_tokens: int = 4096
    temperature: float | None = None
    request: str = ""
    """For which request; those that wait for one server take turns."""
    estimated_tokens: int = 0
    """Of prompt and reply together."""
    bill: Bill | None = None
    hear: Callable[[Callable[[], str]], None] | None = None
    """Told by each try where its text so far can be read while it comes in."""


class Reply(NamedTuple):
    text: str
    model: str = ""
    """The model that really answered."""
    usage: Usage = NO_USAGE


class LLM(Protocol):
    async def ask(self, call: Call) -> Reply:
        """The whole reply, never empty; raises ModelError with a sentence."""
        ...

    async def close(self) -> None: ...


THIS_MACHINE = "this machine"
"""In place of an address, for a model in this process."""


class Server(NamedTuple):
    """Where an agent's calls go."""

    llm: LLM
    model: str
    """For agents that name none."""
    name: str = ""
    """Its address; what is out there stops nobody who talks to another one."""
