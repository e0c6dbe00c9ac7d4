"""KeptReply: what a model said, kept before it is used, so that it is never paid for twice."""

from typing import NamedTuple

from core.domain.task import NO_USAGE, AgentName, TaskId, Usage


class KeptReply(NamedTuple):
    task: TaskId
    root: TaskId
    label: str
    """What was asked for: plan, work, fix, advice, close_out."""
    agent: AgentName
    model: str
    key: str
    """The same question about the same state of the task has the same key."""
    prompt: str
    """The messages that were sent, as JSON."""
    text: str
    usage: Usage = NO_USAGE
    ts: float = 0.0
    discarded: bool = False
    """Its use failed: the same question is asked anew."""
    number: int = 0
    """Given when it is kept."""


class Spent(NamedTuple):
    """What calls to models have cost; a price nobody knows stays unknown."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cached_tokens: int = 0
    """Of the input tokens, those the servers had read before."""
    unknown: int = 0
    """Calls that were sent and never settled: what they cost is not in the sums."""
    unpriced: int = 0
    """Calls whose tokens are known and whose price is not."""
    estimated_tokens: int = 0
    """Of the unknown calls."""
    estimated_usd: float = 0.0
