"""What is asked of PostgreSQL: SQL finds and locks rows, and never chooses a status."""

from core.domain.task import FIELDS
from core.store import rows

EVENTS_A_STEP = 1 << 14
_SHIFT = EVENTS_A_STEP.bit_length() - 1
_TASK_COLUMNS = ", ".join(FIELDS)
_MAIL_COLUMNS = ", ".join(rows.MAIL_COLUMNS)
_NOT_PAUSED = (
    "NOT EXISTS (SELECT 1 FROM tasks AS paused WHERE paused.id = {table}.root "
    "AND paused.status = 'blocked' AND paused.reason = 'budget')"
)
_TASKS_NOT_PAUSED = _NOT_PAUSED.format(table="tasks")
_MAIL_NOT_PAUSED = _NOT_PAUSED.format(table="mail")
_KEY = "hashtextextended(root, 0)"
"""A family is locked by its root: an advisory lock takes no transaction number, a row's would."""

_IN_ORDER = "(age(xmin) >= 0 OR xmin = pg_current_xact_id_if_assigned()::xid)"
"""Events are numbered by transactions, and a transaction gets its number when it first locks a row
or writes. One that was numbered before whoever changed a row last would tell of its own change as
if it had come first: it passes such a row over, or is done again with a new number."""

# One task

TASK = f"SELECT {_TASK_COLUMNS} FROM tasks WHERE id = %s"
_FAMILY_OF = f"(SELECT {_KEY} AS key FROM tasks WHERE id = %s OFFSET 0) AS family"
_STEP = "pg_current_xact_id()::text"
HOLD = f"SELECT key, pg_advisory_xact_lock(key) IS NOT NULL, {_STEP} FROM {_FAMILY_OF}"
"""With the number of the step, which is given once it need not wait any more."""
TRY_SHARED = f"SELECT key, pg_try_advisory_xact_lock_shared(key) FROM {_FAMILY_OF}"
TRY_KEY = "SELECT pg_try_advisory_xact_lock(%s)"
WAIT_KEY = "SELECT pg_advisory_xact_lock(%s)"
WAIT_KEY_SHARED = "SELECT pg_advisory_xact_lock_shared(%s)"
HAS_TASK = "SELECT 1 FROM tasks WHERE id = %s"
IDS_LIKE = 'SELECT id FROM tasks WHERE starts_with(id, %s) ORDER BY id COLLATE "C" LIMIT %s'

# Several tasks

CHILDREN = f"SELECT {_TASK_COLUMNS} FROM tasks WHERE parent = %s ORDER BY rank, number"
OPEN_CHILD = (
    "SELECT 1 FROM tasks WHERE parent = %s AND settled = 0 AND kind <> 'idea' "
    "AND NOT id = ANY(%s::text[]) LIMIT 1"
)
DEPENDENTS = (
    f"SELECT dependencies.task, {_KEY} FROM dependencies "
    "JOIN tasks ON tasks.id = dependencies.task WHERE dependencies.depends_on = %s "
    "ORDER BY tasks.number"
)
_BELOW = "FROM tasks WHERE root = %s AND parent IS NOT NULL"
FAMILY = f"SELECT {_TASK_COLUMNS} {_BELOW} ORDER BY rank, number"
COUNT_FAMILY = f"SELECT count(*) {_BELOW}"
ALL_TASKS = f"SELECT {_TASK_COLUMNS} FROM tasks ORDER BY number"
HELD = f"SELECT {_TASK_COLUMNS} FROM tasks WHERE lease_until IS NOT NULL ORDER BY lease_until"
TO_BE_FIXED = (
    f"SELECT {_TASK_COLUMNS} FROM tasks WHERE claimable = 'fix' AND {_TASKS_NOT_PAUSED} "
    "ORDER BY number"
)

# What belongs to tasks

CRITIQUES = "SELECT round, critique FROM critiques WHERE task = %s ORDER BY number"
FEEDBACK = "SELECT feedback FROM feedback WHERE task = %s ORDER BY number"
ANSWERS = (
    "SELECT task, version, hash, partial, ts, text FROM answers WHERE task = %s ORDER BY version"
)
REPLIES = (
    "SELECT task, root, label, agent, model, key, prompt, text, "
    "input_tokens, output_tokens, cost_usd, ts, discarded, number "
    "FROM replies WHERE task = %s ORDER BY number"
)
BUSY = (
    # Each repeats the condition of a partial index, so that finished work costs nothing.
    f"tasks WHERE claimable IS NOT NULL AND claimable <> 'merge' AND {_TASKS_NOT_PAUSED}",
    "tasks WHERE lease_until IS NOT NULL",
    f"mail WHERE status = 'queued' AND task IS NOT NULL AND {_MAIL_NOT_PAUSED}",
    "mail WHERE status = 'taken' AND task IS NOT NULL",
)

# Mail and events

MESSAGE = f"SELECT {_MAIL_COLUMNS} FROM mail WHERE number = %s"
# The status stands in the text so that the partial indexes serve it.
MESSAGES = f"SELECT {_MAIL_COLUMNS} FROM mail WHERE status = '{{status}}' ORDER BY number"
MAIL_NUMBER = "SELECT nextval(pg_get_serial_sequence('mail', 'number'))"
_SETTLED_BELOW = (
    "(SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + shift) "
    f"<< {_SHIFT} FROM swarm_store)"
)
"""Every transaction with a lower number has ended; one that is kept later has a higher one."""
_EVENT = "SELECT seq, v, ts, type, task, request, data FROM events WHERE seq > %s "
EVENTS = f"{_EVENT}AND seq < {_SETTLED_BELOW} ORDER BY seq LIMIT %s"
ALL_EVENTS = f"{_EVENT}ORDER BY seq LIMIT %s"
COUNT_EVENTS = "SELECT count(*) FROM events"
LAST_EVENT = f"SELECT coalesce(max(seq), 0) FROM events WHERE seq < {_SETTLED_BELOW}"

# Finding work

_CLAIM = f"""\
WITH found AS MATERIALIZED (
    SELECT {_TASK_COLUMNS} FROM tasks
    WHERE claimable = %s AND {_TASKS_NOT_PAUSED} AND {_IN_ORDER} {{and_also}}
    ORDER BY hint, root_created, rank, number LIMIT 1 FOR UPDATE SKIP LOCKED
)
SELECT {_KEY}, pg_try_advisory_xact_lock({_KEY}), {_STEP}, found.* FROM found"""
CLAIM_ANY = _CLAIM.format(and_also="")
_OWN = "AND (executor = %s OR waited_idle_seconds >= %s)"
CLAIM_FIX = _CLAIM.format(and_also=_OWN)
PAUSED = "SELECT 1 FROM tasks WHERE id = %s AND status = 'blocked' AND reason = 'budget'"
_RECEIVE = f"""\
WITH found AS MATERIALIZED (
    SELECT {_MAIL_COLUMNS} FROM mail
    WHERE status = 'queued' AND (to_agent = %s OR to_role = ANY(%s::text[]))
    AND (not_for IS NULL OR strpos(not_for, %s) = 0)
    AND (root IS NULL OR {_MAIL_NOT_PAUSED}) AND {_IN_ORDER} {{and_also}}
    ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
)
SELECT {_STEP}, found.* FROM found"""
RECEIVE_ANY = _RECEIVE.format(and_also="")
RECEIVE_OF = _RECEIVE.format(and_also="AND root = ANY(%s::text[])")
ONLY, BUT = "TRUE AND", "NOT"
"""These families, or any but these."""


def claim(*, own: bool, within: bool, keys: str = "") -> str:
    """The next claim of these roots only, and of these families only or of any but those."""
    also = _OWN if own else ""
    also += " AND root = ANY(%s::text[])" if within else ""
    also += f" AND {keys} ({_KEY} = ANY(%s::bigint[]))" if keys else ""
    return _CLAIM.format(and_also=also)


# Writing

STEP_NUMBER = f"SELECT {_STEP}"
_OR_BREAK_OFF = "WITH changed AS ({update} RETURNING 1) SELECT 1 / count(*) FROM changed"
"""An update that finds no row of its version divides by zero; the commit after it never comes."""
OUTCOME = "SELECT pg_xact_status(%s::xid8)"
TOLD = (
    "SELECT 1 FROM events, swarm_store WHERE seq = (%s::bigint + shift) << "
    f"{_SHIFT} AND ts = %s::float8 AND type = %s AND task IS NOT DISTINCT FROM %s AND data = %s"
)
REPLIED = "SELECT 1 FROM replies WHERE task = %s AND key = %s AND agent = %s AND ts = %s::float8"
END_OF_STEP = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = %s::xid8::xid"
)
NOTIFY = "SELECT pg_notify('swarm_board', %s)"
LISTEN = "LISTEN swarm_board"
NEW_DEPENDENCY = "INSERT INTO dependencies (depends_on, task) VALUES (%s, %s)"
NEW_MAIL = (
    f"INSERT INTO mail ({_MAIL_COLUMNS}) VALUES ({', '.join(['%s'] * len(rows.MAIL_COLUMNS))})"
)
_MAIL_CHANGES = ", ".join(f"{name} = %s" for name in rows.MAIL_STATE)
MAIL_STATE = _OR_BREAK_OFF.format(
    update=f"UPDATE mail SET {_MAIL_CHANGES} WHERE number = %s AND fence = %s AND {_IN_ORDER}"
)
NEW_CRITIQUE = (
    "INSERT INTO critiques (task, round, late, mail, critique) VALUES (%s, %s, %s, %s, %s)"
)
NEW_FEEDBACK = "INSERT INTO feedback (task, feedback) VALUES (%s, %s)"
NEW_ANSWER = (
    "INSERT INTO answers (task, version, hash, partial, ts, text) VALUES (%s, %s, %s, %s, %s, %s)"
)
NEW_REPLY = (
    "INSERT INTO replies (task, root, label, agent, model, key, prompt, text, "
    "input_tokens, output_tokens, cost_usd, ts, discarded) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0)"
)
DISCARD_REPLY = "UPDATE replies SET discarded = 1 WHERE number = %s"


def new_task(names: tuple[str, ...]) -> str:
    return f"INSERT INTO tasks ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"


def task_change(names: tuple[str, ...]) -> str:
    changes = ", ".join(f"{name} = %s" for name in names)
    where = f"id = %s AND version = %s AND {_IN_ORDER}"
    return _OR_BREAK_OFF.format(update=f"UPDATE tasks SET {changes} WHERE {where}")


def new_events(count: int) -> str:
    """Numbered by the transaction that keeps them, and by their place in it."""
    places = ", ".join(f"({place}, %s, %s, %s, %s, %s)" for place in range(count))
    return (
        "INSERT INTO events (seq, v, ts, type, task, request, data) "
        f"SELECT ((pg_current_xact_id()::text::bigint + shift) << {_SHIFT}) + place, %s, "
        "told.ts::float8, told.type, told.task, told.request, told.data "
        f"FROM swarm_store, (VALUES {places}) AS told(place, ts, type, task, request, data)"
    )
