"""The floor on PostgreSQL: a bare SKIP LOCKED loop that writes the same rows as the board."""

from typing import Any

import anyio
import psycopg

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
HOLDER = "0123456789ab/0123456789ab/4026531836/12345/678901"
RESULT = "r" * 200
HASH = "0" * 32
NOW = "extract(epoch FROM now())::float8"

CLAIM = (
    "SELECT id, fence, version FROM tasks WHERE claimable = 'work' "
    "ORDER BY hint, root_created, rank, number LIMIT 1 FOR UPDATE SKIP LOCKED"
)
CLAIMED = (
    f"UPDATE tasks SET status = 'claimed', settled = 0, claimable = NULL, phase = 'work', "
    f"holder = %s, agent = %s, fence = %s, lease_until = {NOW} + 60, claimed_at = {NOW}, "
    f"started = {NOW}, version = version + 1 WHERE id = %s AND version = %s"
)
SUBMITTED = (
    "UPDATE tasks SET status = 'review', settled = 0, phase = NULL, holder = NULL, agent = NULL, "
    "fence = %s, lease_until = NULL, claimed_at = NULL, attempts = 0, iterations = 1, "
    "round_iterations = 1, result = %s, result_hash = %s, result_round = 1, executor = %s, "
    "usage = %s, worked_on_by = %s, review_mail = %s, version = version + 1 "
    "WHERE id = %s AND version = %s"
)
MAIL = (
    "INSERT INTO mail (kind, to_role, not_for, sender, task, root, result_hash, cycle, created, "
    "status, fence, tries) VALUES ('critique_request', 'advisor', %s, %s, %s, %s, %s, 1, "
    f"{NOW}, 'queued', 0, 0) RETURNING number"
)
RECEIVE = (
    "SELECT number, task, root FROM mail WHERE status = 'queued' AND to_role = 'advisor' "
    "ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED"
)
TAKEN = (
    "UPDATE mail SET status = 'taken', holder = %s, agent = %s, fence = 1, "
    f"lease_until = {NOW} + 60, tries = 1 WHERE number = %s AND fence = 0"
)
REVIEWED = "SELECT version FROM tasks WHERE id = %s FOR UPDATE"
ANSWERED = (
    "UPDATE mail SET status = 'acknowledged', holder = NULL, agent = NULL, fence = 2, "
    "lease_until = NULL, tries = 1 WHERE number = %s AND fence = 1"
)
ADVISED = "INSERT INTO critiques (task, round, late, mail, critique) VALUES (%s, 1, 0, %s, %s)"
COMPLETED = (
    "UPDATE tasks SET status = 'completed', settled = 1, critique = %s, critique_round = 1, "
    f"verdict = 'APPROVED', auto_approved = 1, accepted = %s, completed_at = {NOW}, "
    "version = version + 1 WHERE id = %s AND version = %s"
)
EVENT = (
    "INSERT INTO events (seq, v, ts, type, task, request, data) "
    f"VALUES (nextval('floor_events'), 1, {NOW}, %s, %s, %s, %s)"
)
CRITIQUE = '{"reviewer":"a","opinion":"passed","suggestions":[],"comment":"ready","late":false}'
FACT = '{"status":"review","phase":null,"agent":null,"fence":2,"result_hash":"' + HASH + '"}'


async def work_all(url: str, agents: int) -> int:
    """Cycles until nothing is left; returns how many."""
    done = 0

    async def work(number: int) -> None:
        nonlocal done
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
        async with connection:
            while await cycle(connection, f"e{number}"):
                done += 1

    async with anyio.create_task_group() as crew:
        for number in range(agents):
            crew.start_soon(work, number)
    return done


async def cycle(connection: Connection, agent: str) -> bool:
    async with connection.transaction():
        found = await (await connection.execute(CLAIM)).fetchone()
        if found is None:
            return False
        task, fence, version = found[0], found[1] or 0, found[2]
        await connection.execute(CLAIMED, (HOLDER, agent, fence + 1, task, version))
        await connection.execute(EVENT, ("task_claimed", task, task, FACT))
    async with connection.transaction():
        mail = (f"|{agent}|", agent, task, task, HASH)
        (number,) = await (await connection.execute(MAIL, mail)).fetchone() or (0,)
        said = (fence + 2, RESULT, HASH, agent, '{"input_tokens":0}', f'["{agent}"]', number)
        await connection.execute(SUBMITTED, (*said, task, version + 1))
        await connection.execute(EVENT, ("task_submitted", task, task, FACT))
    async with connection.transaction():
        taken = await (await connection.execute(RECEIVE)).fetchone()
        if taken is None:
            return True
        number, task, root = taken
        await connection.execute(TAKEN, (HOLDER, agent, number))
        await connection.execute(EVENT, ("mail_taken", task, root, FACT))
    async with connection.transaction():
        (version,) = await (await connection.execute(REVIEWED, (task,))).fetchone() or (0,)
        await connection.execute(ANSWERED, (number,))
        await connection.execute(ADVISED, (task, number, CRITIQUE))
        await connection.execute(COMPLETED, (CRITIQUE, HASH, task, version))
        await connection.execute(EVENT, ("critique_added", task, root, FACT))
        await connection.execute(EVENT, ("task_settled", task, root, FACT))
    return True
