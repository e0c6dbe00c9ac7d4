"""A step that was broken off, of which nothing was kept, is done again as it was."""

import random
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import anyio

from core.errors import StoreInterrupted

PATIENCE_SECONDS = 60.0
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.002, 0.1

Asked = ParamSpec("Asked")
Said = TypeVar("Said")


def retried(
    step: Callable[Asked, Coroutine[Any, Any, Said]],
) -> Callable[Asked, Coroutine[Any, Any, Said]]:
    """For what opens one transaction and leaves no trace outside of it."""

    @wraps(step)
    async def until_it_is_kept(*asked: Asked.args, **named: Asked.kwargs) -> Said:
        try:
            return await step(*asked, **named)
        except StoreInterrupted:
            return await again(*asked, **named)

    async def again(*asked: Asked.args, **named: Asked.kwargs) -> Said:
        began, wait = time.monotonic(), FIRST_WAIT_SECONDS
        while True:
            # Not all at the same time: who was in the way of each other would be so again.
            await anyio.sleep(random.uniform(0, wait))
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)
            try:
                return await step(*asked, **named)
            except StoreInterrupted:
                if time.monotonic() - began > PATIENCE_SECONDS:
                    raise

    return until_it_is_kept
