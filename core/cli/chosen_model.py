"""The model that was chosen: told before any work, so that nobody wonders who wrote the answer."""

from core.app import Swarm
from core.cli.plain import one_line
from core.cli.reporting import say
from core.local_models.choice import described


async def reached(swarm: Swarm, *, told: bool) -> None:
    """Have the model ready to be asked; one of this machine is told before it is loaded."""
    if told and swarm.embedded is not None:
        say(f"model: {one_line(described(swarm.embedded))}")
    await swarm.reach_servers()
    if told and swarm.embedded is None:
        say(f"model: {one_line(', '.join(swarm.models))}")
