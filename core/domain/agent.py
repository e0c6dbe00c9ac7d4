"""Agents: who is on the crew, in which role, and who may advise on whose work."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from core.domain.task import AgentName


class Role(StrEnum):
    PLANNER = "planner"
    EXECUTOR = "executor"
    ADVISOR = "advisor"


@dataclass(frozen=True, slots=True)
class Agent:
    name: AgentName
    roles: frozenset[Role]


class Crew(BaseModel):
    """Who runs now in this process, and which of them have nothing to do."""

    model_config = ConfigDict(frozen=True)

    agents: tuple[Agent, ...] = ()
    idle: frozenset[AgentName] = frozenset()

    @property
    def has_idle_executor(self) -> bool:
        return any(
            Role.EXECUTOR in agent.roles and agent.name in self.idle for agent in self.agents
        )

    def may_advise(self, workers: Collection[AgentName]) -> bool:
        """Somebody here could advise on work by these agents."""
        return any(
            Role.ADVISOR in agent.roles and agent.name not in workers for agent in self.agents
        )


def unadvised(crew: Crew) -> list[AgentName]:
    """Executors on whose work nobody of the crew may advise."""
    advisors = {agent.name for agent in crew.agents if Role.ADVISOR in agent.roles}
    executors = [agent.name for agent in crew.agents if Role.EXECUTOR in agent.roles]
    # Nobody else advises: no advisor at all, or the executor alone.
    return [name for name in executors if len(advisors) == (name in advisors)]
