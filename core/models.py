"""Which model the crew talks to: from the user's environment, never from a project."""

from collections.abc import Mapping
from typing import NamedTuple

import anyio
import anyio.to_thread

from core.clock import Clock
from core.domain.limits import Limits
from core.errors import ModelNotNamed, NoModel
from core.llm.client import THIS_MACHINE, Server
from core.llm.embedded import CONTEXT_TOKENS, load
from core.llm.openai_client import OpenAIClient
from core.local_models.choice import chosen, meant
from core.local_models.shelf import Loaded, Shelf

DEFAULT_MODEL = "gpt-5-mini"


def client_from(env: Mapping[str, str], limits: Limits, clock: Clock) -> OpenAIClient:
    key, url = env.get("OPENAI_API_KEY", "").strip(), env.get("OPENAI_BASE_URL", "").strip()
    if not key and not url:
        raise NoModel
    return OpenAIClient(base_url=url or None, api_key=key or None, limits=limits, clock=clock)


async def server_from(
    env: Mapping[str, str], limits: Limits, clock: Clock, context_tokens: int = CONTEXT_TOKENS
) -> Server:
    """Reached once before any work, so that a wrong address costs seconds and not a night."""
    if (name := meant(env)) is not None:
        return await _embedded(name, env, Need(limits, clock, context_tokens))
    client = client_from(env, limits, clock)
    try:
        await client.check()
        return Server(client, await _model(client, env), client.server)
    except BaseException:
        await client.close()
        raise


class Need(NamedTuple):
    limits: Limits
    clock: Clock
    context_tokens: int


async def _embedded(name: str, env: Mapping[str, str], need: Need) -> Server:
    """The model of this machine that is meant, loaded; what that took is noted beside it."""
    found = await anyio.to_thread.run_sync(chosen, name, env)
    llm = await load(found.file, need.context_tokens, need.limits, need.clock)
    if found.listed is not None:
        Shelf.of_user(env).mark_loaded(found.listed, Loaded(llm.seconds, llm.memory_bytes))
    return Server(llm, found.name, THIS_MACHINE)


async def _model(client: OpenAIClient, env: Mapping[str, str]) -> str:
    """The one the user names, else the only one a server of their own has."""
    if named := env.get("SWARM_MODEL", "").strip():
        return named
    if not env.get("OPENAI_BASE_URL", "").strip():
        return DEFAULT_MODEL
    listed = await client.models()
    if len(listed) == 1:
        return listed[0]
    raise ModelNotNamed(listed)
