"""Fallbacks: another model of the same server where one fails, is unknown or overloaded."""

from collections.abc import Sequence
from itertools import pairwise

import anyio
import structlog

from core.errors import DayBudgetSpent, ModelError, ModelFailed, PriceUnknown
from core.llm.client import LLM, Call, Reply

log = structlog.get_logger()


class Fallbacks:
    """One agent's way to ask: its models in turn, each within the agent's own time."""

    def __init__(
        self, llm: LLM, fallbacks: Sequence[str] = (), timeout_seconds: float | None = None
    ) -> None:
        self._llm = llm
        self._fallbacks = tuple(fallbacks)
        self._timeout_seconds = timeout_seconds

    async def ask(self, call: Call) -> Reply:
        models = (call.model, *self._fallbacks)
        for model, after in pairwise(models):
            try:
                return await self._ask(call._replace(model=model))
            except (DayBudgetSpent, PriceUnknown):
                raise
            except ModelError as error:
                log.warning("model_fell_back", model=model, to=after, reason=str(error))
        return await self._ask(call._replace(model=models[-1]))

    async def close(self) -> None:
        await self._llm.close()

    async def _ask(self, call: Call) -> Reply:
        if self._timeout_seconds is None:
            return await self._llm.ask(call)
        try:
            with anyio.fail_after(self._timeout_seconds):
                return await self._llm.ask(call)
        except TimeoutError as error:
            why = f"no whole reply within {self._timeout_seconds:g} s"
            raise ModelFailed(call.model, why) from error
