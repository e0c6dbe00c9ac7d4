"""Which server each agent talks to: one client for each, however many agents use it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import anyio

from core.clock import Clock
from core.crew import Member
from core.domain.limits import Limits
from core.errors import BadConfig
from core.llm.client import LLM, Server
from core.llm.openai_client import OpenAIClient
from core.models import client_from, server_from


class Place(NamedTuple):
    """A server of its own, as an agent's entry names it; None is the crew's."""

    base_url: str
    key_variable: str | None


class Servers:
    def __init__(self, env: Mapping[str, str], limits: Limits, clock: Clock) -> None:
        self._env, self._limits, self._clock = env, limits, clock
        self._clients: dict[Place, OpenAIClient] = {}
        self._default: Server | None = None

    async def reach(self, members: Sequence[Member]) -> None:
        """Each server these agents need, once and before any work."""
        wanted = {_place(member) for member in members}
        new = [place for place in wanted if place is not None and place not in self._clients]
        for place in new:
            self._clients[place] = self._client(place)
        try:
            if None in wanted and self._default is None:
                context = self._context_tokens(members)
                self._default = await server_from(self._env, self._limits, self._clock, context)
            async with anyio.create_task_group() as group:
                for place in new:
                    group.start_soon(self._clients[place].check)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors

    def _context_tokens(self, members: Sequence[Member]) -> int:
        """What the crew's own server has to read at once."""
        own = [member for member in members if _place(member) is None]
        return max(member.context_tokens or self._limits.context_tokens for member in own)

    def of(self, member: Member) -> Server:
        place = _place(member)
        if place is None:
            assert self._default is not None, "the crew's server was reached"
            llm, model, name = self._default
            return Server(llm, member.model or model, name)
        assert member.model is not None, "agents.yaml names a model beside each server"
        return Server(self._clients[place], member.model, place.base_url)

    async def close(self) -> None:
        clients: list[LLM] = [*self._clients.values()]
        for client in clients + ([self._default.llm] if self._default is not None else []):
            await client.close()

    def _client(self, place: Place) -> OpenAIClient:
        key = self._env.get(place.key_variable, "") if place.key_variable else ""
        if place.key_variable and not key.strip():
            raise BadConfig(
                f"{place.key_variable} is not set, and agents.yaml names it as the key of "
                f"{place.base_url}; set it in the environment"
            )
        named = {"OPENAI_BASE_URL": place.base_url, "OPENAI_API_KEY": key}
        return client_from(named, self._limits, self._clock)


def _place(member: Member) -> Place | None:
    return None if member.base_url is None else Place(member.base_url, member.key_variable)
