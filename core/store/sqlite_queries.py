"""What SQLite is asked when the memory of a connection does not know: the texts."""

from typing import Any

from core.domain.task import FIELDS, TaskId
from core.store import rows
from core.store.protocol import Wanted

TASK = f"SELECT {', '.join(FIELDS)}, number FROM tasks "
ONE_TASK = TASK + "WHERE id = ?"
MAIL = f"SELECT {', '.join(rows.MAIL_COLUMNS)} FROM mail "
ONE_MAIL = MAIL + "WHERE number = ?"
PLAN_ORDER = "ORDER BY rank, number"
NOT_PAUSED = (
    "NOT EXISTS (SELECT 1 FROM tasks AS paused WHERE paused.id = {table}.root "
    "AND paused.status = 'blocked' AND paused.reason = 'budget') "
)
OPEN_CHILDREN = "SELECT count(*) FROM tasks WHERE parent = ? AND settled = 0 AND kind <> 'idea'"
TO_BE_FIXED = (
    TASK + "WHERE claimable = 'fix' AND " + NOT_PAUSED.format(table="tasks") + "ORDER BY number"
)
_CLAIM = "SELECT id FROM tasks WHERE claimable = ? AND " + NOT_PAUSED.format(table="tasks")
_READY = "SELECT hint, root_created, rank, number, id FROM tasks WHERE claimable = ? "
_CLAIM_ORDER = "ORDER BY hint, root_created, rank, number LIMIT ?"
BUSY = (
    # Each repeats the condition of a partial index, so that finished work costs nothing.
    "tasks WHERE claimable IS NOT NULL AND claimable <> 'merge' AND "
    + NOT_PAUSED.format(table="tasks"),
    "tasks WHERE lease_until IS NOT NULL ",
    "mail WHERE status = 'queued' AND task IS NOT NULL AND " + NOT_PAUSED.format(table="mail"),
    "mail WHERE status = 'taken' AND task IS NOT NULL ",
)
QUEUED_MAIL = "SELECT number FROM mail WHERE status = 'queued' ORDER BY number LIMIT ?"
_OLDEST = (
    "SELECT min(number) AS oldest FROM mail WHERE status = 'queued' AND {address} = ? "
    "AND (not_for IS NULL OR instr(not_for, ?) = 0) AND (root IS NULL OR {not_paused})"
)
_FOR_ROLE = _OLDEST.format(address="to_role", not_paused=NOT_PAUSED.format(table="mail"))
_FOR_AGENT = _OLDEST.format(address="to_agent", not_paused=NOT_PAUSED.format(table="mail"))

Query = tuple[str, list[Any]]


def among(column: str, names: frozenset[TaskId] | None) -> tuple[str, list[TaskId]]:
    """A condition that holds for these names only, or for all."""
    if names is None:
        return "", []
    return f"AND {column} IN ({', '.join('?' * len(names))}) ", sorted(names)


def first_claimable(wanted: Wanted) -> Query:
    within, names = among("root", wanted.roots)
    query = _CLAIM + within
    values: list[Any] = [wanted.phase._value_, *names]
    if wanted.own is not None:
        query += "AND (executor = ? OR waited_idle_seconds >= ?) "
        values += [wanted.own, wanted.waited_seconds]
    return query + _CLAIM_ORDER, [*values, 1]


def claim_queue(phase: str, roots: frozenset[TaskId] | None, limit: int) -> Query:
    within, names = among("root", roots)
    return _READY + within + _CLAIM_ORDER, [phase, *names, limit]


def oldest_mail(agent: str, roles: list[str], roots: frozenset[TaskId] | None) -> Query:
    within, names = among("root", roots)
    query = "SELECT min(oldest) FROM (" + _FOR_AGENT + within
    values: list[Any] = [agent, f"|{agent}|", *names]
    for role in roles:
        query += " UNION ALL " + _FOR_ROLE + within
        values += [role, f"|{agent}|", *names]
    return query + ")", values
