"""Finding work on PostgreSQL: who finds some locks it, and passes over what others hold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.domain.agent import Role
from core.domain.task import AgentName, Task, TaskId
from core.errors import StoreInterrupted
from core.store import postgres_queries as queries
from core.store.postgres_words import Statement
from core.store.protocol import Wanted

if TYPE_CHECKING:
    from core.store.postgres_transaction import PostgresTransaction

BUSY_FAMILIES = 3
"""So many families that others work in are passed over before one of them is waited for."""
LOOKS = 5
"""Others may take what was waited for; after so many times nothing is found, and the bell or the
next look decides."""

Asked = tuple[AgentName, frozenset[Role], frozenset[TaskId] | None]


async def next_claimable(tx: "PostgresTransaction", wanted: Wanted) -> Task | None:
    """The first task that can be claimed and whose family is free, else one that is waited for."""
    may_wait = not tx.families and tx.families.may_wait
    for _ in range(LOOKS):
        busy: list[int] = []
        while len(busy) < BUSY_FAMILIES:
            found = await _look(tx, wanted, queries.BUT if busy else "", busy)
            if found is None:
                break
            key, free, _, *row = found
            if free:
                return await _taken(tx, key, row)
            busy.append(key)
        if not busy or not may_wait:
            return None
        if (found := await _wait_and_look(tx, wanted, busy[0])) is not None:
            return await _taken(tx, busy[0], found[3:])
        await tx.start_again()
    return None


async def _look(
    tx: "PostgresTransaction", wanted: Wanted, which: str, keys: list[int]
) -> Sequence[Any] | None:
    (found,) = await tx.session.ask(_claim(tx, wanted, which, keys))
    if not found.rows:
        return None
    # A row is locked now, and the step is numbered: who waits from here on may wait for ever.
    tx.families.may_wait = False
    tx.number = str(found.rows[0][2])
    return found.rows[0]


async def _wait_and_look(
    tx: "PostgresTransaction", wanted: Wanted, key: int
) -> Sequence[Any] | None:
    """Let go of all rows, wait for the family, and look there again."""
    await tx.start_again()
    await tx.session.ask(Statement(queries.WAIT_KEY, (key,)))
    return await _look(tx, wanted, queries.ONLY, [key])


async def _taken(tx: "PostgresTransaction", key: int, row: Sequence[Any]) -> Task:
    tx.families.note(key, alone=True)
    task = tx.know(row)
    if task.parent is not None:
        # A budget may have been spent after the search began and before the family was held.
        (paused,) = await tx.session.ask(Statement(queries.PAUSED, (task.root,)))
        if paused.rows:
            raise StoreInterrupted(tx.shown, "the request was paused meanwhile")
    return task


def _claim(tx: "PostgresTransaction", wanted: Wanted, which: str, keys: list[int]) -> Statement:
    own, within = wanted.own is not None, wanted.roots is not None
    values: list[Any] = [wanted.phase._value_]
    values += [wanted.own, wanted.waited_seconds] if own else []
    values += [sorted(wanted.roots)] if wanted.roots is not None else []
    values += [keys] if which else []
    if within or which:
        return Statement(queries.claim(own=own, within=within, keys=which), values)
    if own:
        return Statement(queries.CLAIM_FIX, values)
    return Statement(queries.CLAIM_ANY, values)


async def next_message(tx: "PostgresTransaction", asked: Asked) -> Sequence[Any] | None:
    agent, roles, roots = asked
    values: list[Any] = [agent, sorted(role.value for role in roles), f"|{agent}|"]
    if roots is not None:
        values.append(sorted(roots))
    text = queries.RECEIVE_ANY if roots is None else queries.RECEIVE_OF
    (found,) = await tx.session.ask(Statement(text, values))
    if not found.rows:
        return None
    number, *row = found.rows[0]
    tx.families.may_wait = False
    tx.number = str(number)
    return row
