"""A line to the server: several statements in one round trip, and plans for what comes again."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg

from core.store.postgres_words import Statement, kept, numbered, read

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
MOST_PLANS = 256
_PLANNED = ("SELECT", "INSERT", "UPDATE", "WITH")


class Answer(NamedTuple):
    rows: list[Sequence[Any]]
    changed: int
    tag: str


class Line:
    """One connection; behind a pooler it belongs to another session each time, and has no plans."""

    def __init__(self, connection: Connection, *, plans: bool) -> None:
        self.connection = connection
        self._cursor = psycopg.AsyncClientCursor(connection)
        self._keeps_plans = plans
        self._plans: dict[str, str] = {}
        self._seen: set[str] = set()
        self._named = 0

    @property
    def lives(self) -> bool:
        return not self.connection.closed and not self.connection.broken

    async def close(self) -> None:
        await self.connection.close()

    async def ask(self, statements: Sequence[Statement]) -> list[Answer]:
        """The answers, in order; the first statement that fails ends it."""
        texts: list[str] = []
        wanted: list[int] = []
        new: dict[str, str] = {}
        for one in statements:
            plan = self._plans.get(one.text) or new.get(one.text)
            if plan is None and self._comes_again(one.text):
                plan = new[one.text] = self._name()
                texts.append(f"PREPARE {plan} AS {numbered(one.text)}")
            wanted.append(len(texts))
            texts.append(one.text if plan is None else _execute(plan, len(one.values)))
        values = kept(value for one in statements for value in one.values)
        answers = await self._send("; ".join(texts), values)
        self._plans.update(new)
        return [answers[place] for place in wanted]

    async def _send(self, text: str, values: list[Any]) -> list[Answer]:
        cursor = self._cursor
        await cursor.execute(text, values)
        answers = []
        while True:
            # Asking for the description would make an object of each column.
            told = cursor.pgresult is not None and cursor.pgresult.nfields > 0
            rows = [read(row) for row in await cursor.fetchall()] if told else []
            answers.append(Answer(rows, cursor.rowcount, cursor.statusmessage or ""))
            if not cursor.nextset():
                return answers

    def _comes_again(self, text: str) -> bool:
        """Whoever asks a second time will ask more often."""
        if not self._keeps_plans or not text.startswith(_PLANNED):
            return False
        if text in self._seen:
            return len(self._plans) < MOST_PLANS
        self._seen.add(text)
        return False

    def _name(self) -> str:
        # A new one each time: a plan may be there though the answer to its making was lost.
        self._named += 1
        return f"swarm_{self._named}"


def _execute(plan: str, values: int) -> str:
    return f"EXECUTE {plan}({', '.join(['%s'] * values)})" if values else f"EXECUTE {plan}"
