"""How SQLite keeps what models said."""

from collections.abc import Sequence
from typing import Any

from core.domain.reply import KeptReply
from core.domain.task import Usage

NEW_REPLY = (
    "INSERT INTO replies (task, root, label, agent, model, key, prompt, text, "
    "input_tokens, output_tokens, cost_usd, ts, discarded) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
)
DISCARD = "UPDATE replies SET discarded = 1 WHERE number = ?"
REPLIES = (
    "SELECT task, root, label, agent, model, key, prompt, text, "
    "input_tokens, output_tokens, cost_usd, ts, discarded, number "
    "FROM replies WHERE task = ? ORDER BY number"
)


def row_of(reply: KeptReply, now: float) -> tuple[Any, ...]:
    used = reply.usage
    said = (reply.task, reply.root, reply.label, reply.agent, reply.model)
    cost = (used.input_tokens, used.output_tokens, used.cost_usd)
    return (*said, reply.key, reply.prompt, reply.text, *cost, now)


def reply_of(row: Sequence[Any]) -> KeptReply:
    task, root, label, agent, model, key, prompt, text, *cost, ts, discarded, number = row
    usage = Usage(input_tokens=cost[0], output_tokens=cost[1], cost_usd=cost[2])
    said = (task, root, label, agent, model, key, prompt, text)
    return KeptReply(*said, usage, ts, bool(discarded), number)
