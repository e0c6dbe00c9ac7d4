"""Locks of families: a step holds the family of every task it reads, so what it read stays true.

A family is a root with all that lies below it. Two steps that share one follow each other, as all
steps do on SQLite. What a step may change it holds alone, what it only reads (a dependency of
another family) it shares. Nobody waits for a family while holding one with a higher key, so no two
steps wait for each other; where it would have to, the step is broken off and done again, and then
holds all it needs from the beginning.
"""

from core.errors import StoreInterrupted
from core.store import postgres_queries as queries
from core.store.postgres_sessions import Session
from core.store.postgres_words import Statement

_TAKEN = "another step holds what this one needs"


Needs = dict[str, dict[int, bool]]
"""What a step that began with a task had to hold when it was broken off, and what of it alone."""
MOST_NEEDS = 1000


class Families:
    """Of one step."""

    def __init__(self, session: Session, shown: str, needs: Needs) -> None:
        self._session = session
        self._shown = shown
        self._needs = needs
        self._first: str | None = None
        self._held: dict[int, bool] = {}
        """Each key, and whether it is held alone."""
        self.may_wait = True
        """Until the step has a number: who waits then would be numbered before who came first."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def hold_family_of(self, task_id: str) -> Statement:
        """The first family is waited for, any other one is only tried at first."""
        if self._held:
            return Statement(queries.TRY_SHARED, (task_id,))
        return Statement(queries.HOLD, (task_id,))

    async def begin_with(self, task_id: str) -> None:
        """Where this step was broken off before, hold at once and in order what it then needed."""
        if self._held:
            return
        self._first = task_id
        needed = sorted(self._needs.pop(task_id, {}).items())
        if needed:
            texts = {True: queries.WAIT_KEY, False: queries.WAIT_KEY_SHARED}
            await self._session.ask(*(Statement(texts[alone], (key,)) for key, alone in needed))
            self._held.update(needed)

    def note(self, key: int, *, alone: bool) -> None:
        self._held[key] = alone or self._held.get(key, False)

    async def took(self, key: int, got: bool) -> bool:
        """Note what came of holding a family; True when what was read with it can be used."""
        if got or key in self._held:
            self.note(key, alone=not self._held)
            return True
        await self._wait(key, alone=False)
        return False

    async def hold_alone(self, keys: list[int]) -> None:
        for key in sorted(set(keys)):
            if not self._held.get(key, False):
                (answer,) = await self._session.ask(Statement(queries.TRY_KEY, (key,)))
                if answer.rows[0][0]:
                    self.note(key, alone=True)
                else:
                    await self._wait(key, alone=True)

    async def _wait(self, key: int, *, alone: bool) -> None:
        if not self.may_wait or any(held >= key for held in self._held):
            if self._first is not None and len(self._needs) < MOST_NEEDS:
                self._needs[self._first] = {**self._held, key: alone or self._held.get(key, False)}
            raise StoreInterrupted(self._shown, _TAKEN)
        text = queries.WAIT_KEY if alone else queries.WAIT_KEY_SHARED
        await self._session.ask(Statement(text, (key,)))
        self.note(key, alone=alone)
