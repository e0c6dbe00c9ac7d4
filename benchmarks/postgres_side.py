"""One process of one side: says `ready`, works when told to, and says how many cycles it made.

Run as `python -m benchmarks.postgres_side board|floor URL AGENTS`.
"""

import sys
import time

import anyio

from benchmarks.board import PASSED, RULES
from benchmarks.measure import like_the_command
from benchmarks.postgres_floor import RESULT
from benchmarks.postgres_floor import work_all as floor_work_all
from core.domain.agent import Agent, Role
from core.domain.reports import Work
from core.domain.task import AgentName
from core.mailbox import Mailbox
from core.store import open_store
from core.store.protocol import Store
from core.task_board import TaskBoard


async def board_work_all(store: Store, agents: int) -> int:
    """Claim, submit, take the mail, critique: until nothing is left."""
    board, mailbox = TaskBoard(store, RULES), Mailbox(store)
    done = 0

    async def work(number: int) -> None:
        nonlocal done
        executor = Agent(name=AgentName(f"e{number}"), roles=frozenset({Role.EXECUTOR}))
        advisor = Agent(name=AgentName(f"a{number}"), roles=frozenset({Role.ADVISOR}))
        while (claim := await board.claim_next(executor)) is not None:
            await board.submit(claim, Work(result=RESULT))
            if (mail := await mailbox.receive(advisor)) is not None:
                await board.add_critique(mail, PASSED)
            done += 1

    async with anyio.create_task_group() as crew:
        for number in range(agents):
            crew.start_soon(work, number)
    return done


async def main(side: str, url: str, agents: int) -> None:
    store = await open_store(url)
    print("ready", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    cpu = time.process_time()
    if side == "board":
        done = await board_work_all(store, agents)
    else:
        done = await floor_work_all(url, agents)
    print(done, time.process_time() - cpu, flush=True)
    await store.close()


if __name__ == "__main__":
    like_the_command()
    anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]))
