"""Finds the next piece of work: in the queues this connection holds, else by asking SQLite."""

from typing import TYPE_CHECKING

from core.domain.agent import Role
from core.domain.message import MailStatus, Message
from core.domain.task import BLOCKED, AgentName, Hint, Reason, Task, TaskId
from core.store import sqlite_queries as sql
from core.store.cache import Place, Roots
from core.store.protocol import Wanted
from core.store.queues import Queue

if TYPE_CHECKING:
    from core.store.sqlite_transaction import SqliteTransaction

_BUDGET = Reason.BUDGET
_QUEUED = MailStatus.QUEUED
_HINTS = tuple(Hint)


def claimable(tx: "SqliteTransaction", wanted: Wanted) -> Task | None:
    """The first task in the order of claims that is wanted."""
    if tx.freed:
        return _ask_for_claimable(tx, wanted)
    shared = tx.shared
    queue = shared.ready.get((wanted.phase, wanted.roots)) or _claim_queue(tx, wanted)
    entries = queue.entries
    at = 0
    while at < len(entries):
        hint, *_, task_id = entries[at]
        task = shared.tasks.get(task_id) or tx.load(task_id)
        if task.claimable is not wanted.phase or task.hint is not hint:
            del entries[at]  # Somebody took it, or it moved.
        elif _fits(wanted, task) and not _paused(tx, task.root):
            return task
        else:
            at += 1
    if queue.complete:
        return None
    # Others may fit further down; look there once, and hold more of the queue next time.
    del shared.ready[wanted.phase, wanted.roots]
    return _ask_for_claimable(tx, wanted)


def _claim_queue(tx: "SqliteTransaction", wanted: Wanted) -> Queue[Place]:
    limit = tx.shared.look_further()
    found = tx.query(*sql.claim_queue(wanted.phase._value_, wanted.roots, limit)).fetchall()
    entries = [(_HINTS[row[0]], *row[1:]) for row in found]
    queue: Queue[Place] = Queue(entries, complete=len(found) < limit)
    tx.shared.ready[wanted.phase, wanted.roots] = queue
    return queue


def _ask_for_claimable(tx: "SqliteTransaction", wanted: Wanted) -> Task | None:
    row = tx.query(*sql.first_claimable(wanted)).fetchone()
    return None if row is None else tx.shared.tasks.get(row[0]) or tx.load(row[0])


def _fits(wanted: Wanted, task: Task) -> bool:
    own = wanted.own
    return own is None or task.executor == own or task.waited_idle_seconds >= wanted.waited_seconds


def _paused(tx: "SqliteTransaction", root: TaskId) -> bool:
    """The budget of its request is spent."""
    above = tx.shared.tasks.get(root) or tx.load(root)
    return above.status is BLOCKED and above.reason is _BUDGET


async def mail(
    tx: "SqliteTransaction", agent: AgentName, roles: frozenset[Role], roots: Roots
) -> Message | None:
    """The oldest mail this agent may take."""
    queue = None if tx.posted else tx.shared.mail or _mail_queue(tx)
    entries = [] if queue is None else queue.entries
    at = 0
    while at < len(entries):
        found = await tx.message(entries[at])
        if found.status is not _QUEUED:
            del entries[at]  # Somebody took it.
        elif _is_for(found, agent, roles, roots) and not (found.root and _paused(tx, found.root)):
            return found
        else:
            at += 1
    if queue is not None and queue.complete:
        return None
    tx.shared.mail = None
    query = sql.oldest_mail(agent, [role._value_ for role in roles], roots)
    (oldest,) = tx.query(*query).fetchone()
    return None if oldest is None else await tx.message(oldest)


def _mail_queue(tx: "SqliteTransaction") -> Queue[int]:
    limit = tx.shared.look_further()
    found = [row[0] for row in tx.query(sql.QUEUED_MAIL, (limit,))]
    tx.shared.mail = Queue(found, complete=len(found) < limit)
    return tx.shared.mail


def _is_for(mail: Message, agent: AgentName, roles: frozenset[Role], roots: Roots) -> bool:
    if mail.to_agent != agent and mail.to_role not in roles:
        return False
    return agent not in mail.not_for and (roots is None or mail.root in roots)
