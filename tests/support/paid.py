"""What a reply cost, as an agent books it."""

from core.charges import Settlement
from core.domain.budget import Charge, ChargeState
from core.domain.reply import KeptReply


def paid(reply: KeptReply) -> Settlement:
    """One call whose server said what it counted."""
    named = (reply.key, reply.root, reply.task, reply.agent, reply.label, reply.model, "a process")
    charge = Charge(
        *named,
        state=ChargeState.SETTLED,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost_usd=reply.usage.cost_usd,
    )
    return Settlement(new=(charge,))
