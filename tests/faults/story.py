"""A fixed story of one request, told in a process that dies at a commit of its choice.

Run as `python -m tests.faults.story FOLDER before|after`: one child per commit tells the story into
FOLDER/<n>/swarm.db and kills itself right before or right after its n-th COMMIT; the last child
comes to the end and leaves in FOLDER/whole/commits.json how many events each commit had kept.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Literal

import anyio
import anyio._backends._asyncio  # loaded by the first run, so by each child

from core.domain.agent import Agent
from core.domain.critique import Advice, Opinion, advice
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Complexity, Kind, Signal, Task
from core.flows.recovery import recover
from core.mailbox import Mailbox
from core.store.protocol import Store
from core.store.sqlite import SqliteStore
from core.store.sqlite_file import Synchronous
from core.task_board import Claim, TaskBoard
from tests.support.board import ADA, AUTO, BOB, CREW, EVE, MERGER, PAT, some

SYNCHRONOUS = Synchronous.NORMAL
"""A kill takes nothing away that was handed to the system, so nobody waits for the disk here."""
PASSED = advice(passed=True)
REJECTED = advice(passed=False, suggestions=("name the source",))
DISCUSS = Advice(opinion=Opinion.NEEDS_DISCUSSION, comment="is this what was asked?")
TITLE = "compare the three offers"

LONGEST_STORY_SECONDS = 30

PLAN = (
    NewTask(title="offers", key="offers", complexity=Complexity.SIMPLE),
    NewTask(title="prices", complexity=Complexity.NORMAL, depends_on=("offers",)),
    NewTask(title="risks", complexity=Complexity.COMPLEX),
    NewTask(title="letter", kind=Kind.MILESTONE),
    NewTask(title="a trip", kind=Kind.IDEA),
)
LETTER_PLAN = (
    NewTask(title="draft", complexity=Complexity.COMPLEX),
    NewTask(title="address", complexity=Complexity.SIMPLE, tags=("review:per-task",)),
    NewTask(title="script", complexity=Complexity.SIMPLE, code=True),
)


def plan_of(task: Task) -> Sequence[NewTask]:
    return PLAN if task.kind is Kind.REQUEST else LETTER_PLAN


class Story:
    def __init__(self, store: Store) -> None:
        self.board = TaskBoard(store, AUTO, chance=Random(0))
        self.mailbox = Mailbox(store, AUTO.limits)

    async def tell(self) -> None:
        request = await self.board.add_request(TITLE)
        await self._plan()
        claims = await self._claim_together()
        await self._finish_risks(claims["risks"])
        offers = await self.board.submit(claims["offers"], Work(result="three offers"))
        await self._plan()
        await self._finish_prices()
        await self._finish_draft()
        await self._finish_address()
        await self._finish_script()
        await self._close_out()
        await self._close_out()
        await self._redo(offers)
        await self.board.people.redo(request.id, "shorter, please")
        await self._close_out()

    async def _plan(self) -> None:
        claim = some(await self.board.claim_next(PAT))
        await self.board.decompose(claim, plan_of(claim.task))

    async def _claim_together(self) -> dict[str, Claim]:
        """Two agents at once: their steps share one commit."""
        claims: dict[str, Claim] = {}

        async def claim(agent: Agent) -> None:
            found = some(await self.board.claim_next(agent))
            claims[found.task.title] = found

        async with anyio.create_task_group() as crew:
            crew.start_soon(claim, ADA)
            crew.start_soon(claim, BOB)
        assert await self.board.heartbeat(claims.values()) == []
        return claims

    async def _finish_risks(self, claim: Claim) -> None:
        """Rejected, fixed, given back by one advisor and passed by the next."""
        await self.board.iterate(claim, draft="no risk")
        await self.board.submit(claim, Work(result="no risk at all"))
        await self._advise(REJECTED)
        await self._fix("one risk")
        mail = some(await self.mailbox.receive(EVE))
        await self.mailbox.give_back(await self.mailbox.heartbeat(mail))
        await self._advise(PASSED)

    async def _finish_prices(self) -> None:
        """An error costs an attempt; a question is answered; one critique, one fix."""
        claim = some(await self.board.claim_next(ADA))
        await self.board.let_go(claim, because="the model's server said 500")
        claim = some(await self.board.claim_next(ADA))
        await self.board.signal(claim, Signal.NEEDS_HUMAN, "in which currency?")
        await self.board.people.reopen(claim.task_id, "in euros")
        await self._work("about 100")
        await self._advise(REJECTED)
        await self._fix("120 euros")

    async def _finish_draft(self) -> None:
        await self._work("Dear Sirs")
        task = await self._advise(DISCUSS)
        await self.board.people.reject(task.id, "not to them")
        await self.board.people.reopen(task.id, "to the board")
        await self._work("Dear board")
        await self._advise(PASSED)

    async def _finish_address(self) -> None:
        task = await self._work("12 High Street")
        await self.board.people.defer(task.id)
        await self.board.people.reopen(task.id)
        await self.board.people.approve(task.id)

    async def _finish_script(self) -> None:
        """Code is merged; the first merge meets a conflict."""
        await self._work("print('Dear board')")
        await self.board.conflict(some(await self.board.claim_merge(MERGER)), "both changed it")
        await self._work("print('Dear Board')")
        await self.board.merged(some(await self.board.claim_merge(MERGER)))

    async def _redo(self, offers: Task) -> None:
        """What was built on the old result is done again too, and the answer with it."""
        await self.board.people.redo(offers.id, "there is a fourth one")
        await self._work("four offers")
        await self._work("140 euros")
        await self._advise(PASSED)
        await self._close_out()

    async def _work(self, result: str) -> Task:
        claim = some(await self.board.claim_next(ADA))
        return await self.board.submit(claim, Work(result=result))

    async def _fix(self, result: str) -> Task:
        await recover(self.board, self.mailbox, CREW)
        executor = some(
            await self.board.claim_critique(BOB) or await self.board.claim_critique(ADA)
        )
        return await self.board.submit(executor, Work(result=result))

    async def _advise(self, opinion: Advice) -> Task:
        mail = some(await self.mailbox.receive(EVE))
        return await self.board.add_critique(mail, opinion)

    async def _close_out(self) -> None:
        claim = some(await self.board.claim_close_out(PAT))
        found = await self.board.collect_results(claim.task_id)
        await self.board.close_out(claim, " ".join(one.result or "" for one in found))


Side = Literal["before", "after"]
KEPT: list[int] = []
"""Events in the store after each commit of this process."""


class Mortal(sqlite3.Connection):
    """Dies with its process at one commit."""

    side: Side = "before"
    fatal: int = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return super().execute(sql, parameters)
        number = len(KEPT) + 1
        if (self.side, self.fatal) == ("before", number):
            os.kill(os.getpid(), signal.SIGKILL)
        done = super().execute(sql)
        if (self.side, self.fatal) == ("after", number):
            os.kill(os.getpid(), signal.SIGKILL)
        KEPT.append(super().execute("SELECT count(*) FROM events").fetchone()[0])
        return done


async def tell_in(folder: Path) -> None:
    folder.mkdir()
    store = await SqliteStore.open(folder / "swarm.db", synchronous=SYNCHRONOUS)
    try:
        await Story(store).tell()
    finally:
        await store.close()
    (folder / "commits.json").write_text(json.dumps(KEPT))


def die_at_each_commit(folder: Path, side: Side) -> None:
    """Forked before any event loop runs, so that the imports are paid for once."""
    sqlite3.connect = partial(sqlite3.connect, factory=Mortal)  # type: ignore[assignment]
    Mortal.side = side
    died = -signal.SIGKILL
    while died == -signal.SIGKILL:
        Mortal.fatal += 1
        child = os.fork()
        if child == 0:
            signal.alarm(LONGEST_STORY_SECONDS)
            anyio.run(tell_in, folder / str(Mortal.fatal))
            os._exit(0)
        died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert died == 0, "the story went wrong"
    (folder / str(Mortal.fatal)).rename(folder / "whole")


if __name__ == "__main__":
    die_at_each_commit(Path(sys.argv[1]), "before" if sys.argv[2] == "before" else "after")
