"""Wake-ups between processes: NOTIFY when work appears, never in every transaction."""

import random
import time
from collections.abc import Sequence

import anyio
import psycopg

from core.bell import Bell
from core.errors import StoreError
from core.store import postgres_queries as queries
from core.store.postgres_sessions import Sessions
from core.store.postgres_words import Statement

_WORK = ("claim:", "mail:")
"""What others could take; that a claim was lost its holder hears with its next heartbeat."""
QUIET_SECONDS = 0.05
"""A topic is told once in this time: who notifies takes a lock that all commits wait for. Who
misses one looks anyway after some seconds."""
LONGEST_PAYLOAD = 7000
AGAIN_SECONDS = 2.0


class Wakes:
    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._told: dict[str, float] = {}

    def due(self, topics: Sequence[str]) -> list[Statement]:
        """What a step tells the other processes."""
        now = time.monotonic()
        new = [
            topic
            for topic in dict.fromkeys(topics)
            if topic.startswith(_WORK) and now - self._told.get(topic, 0.0) >= QUIET_SECONDS
        ]
        self._told.update(dict.fromkeys(new, now))
        text = "\n".join(new)
        return [Statement(queries.NOTIFY, (text,))] if 0 < len(text) < LONGEST_PAYLOAD else []

    async def hear(self, sessions: Sessions) -> None:
        """Ring for what others tell, until cancelled; a lost connection is made again."""
        while True:
            try:
                line = await sessions.connect()
                try:
                    await line.ask([Statement(queries.LISTEN)])
                    async for told in line.connection.notifies():
                        self._bell.ring(told.payload.split("\n"))
                finally:
                    await line.close()
            except (psycopg.Error, StoreError):
                # Nobody waits for this: agents look by themselves, and whoever steps says more.
                await anyio.sleep(random.uniform(AGAIN_SECONDS / 2, AGAIN_SECONDS))
