"""Which model server the crew talks to: from the user's environment, never from a project."""

from collections.abc import Mapping

from core.clock import Clock
from core.domain.limits import Limits
from core.errors import ModelNotNamed, NoModel
from core.llm.client import Server
from core.llm.openai_client import OpenAIClient

DEFAULT_MODEL = "gpt-5-mini"


def client_from(env: Mapping[str, str], limits: Limits, clock: Clock) -> OpenAIClient:
    key, url = env.get("OPENAI_API_KEY", "").strip(), env.get("OPENAI_BASE_URL", "").strip()
    if not key and not url:
        raise NoModel
    return OpenAIClient(base_url=url or None, api_key=key or None, limits=limits, clock=clock)


async def server_from(env: Mapping[str, str], limits: Limits, clock: Clock) -> Server:
    """Reached once before any work, so that a wrong address costs seconds and not a night."""
    client = client_from(env, limits, clock)
    try:
        await client.check()
        return Server(client, await _model(client, env), client.server)
    except BaseException:
        await client.close()
        raise


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
