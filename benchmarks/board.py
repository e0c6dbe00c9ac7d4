"""The board without a model: add K tasks, claim, submit, critique, fix, complete."""

import itertools
from pathlib import Path

import anyio

from benchmarks.story import Story
from core.domain.agent import Agent, Role
from core.domain.critique import advice
from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.rules import Rules
from core.domain.task import AgentName, TaskStatus
from core.mailbox import Mailbox
from core.store.sqlite import SqliteStore
from core.store.sqlite_file import Synchronous
from core.task_board import TaskBoard

RULES = Rules(review=ReviewRules(default_mode=ReviewMode.AUTO))
PASSED = advice(passed=True, comment="ready")
REJECTED = advice(passed=False, suggestions=["name the source"], comment="not yet")
POLL_SECONDS = 5.0


async def run(folder: Path, synchronous: str, story: Story) -> None:
    store = await SqliteStore.open(folder / "swarm.db", synchronous=Synchronous(synchronous))
    board = TaskBoard(store, RULES)
    await add_all(board, story)
    await work_all(board, Mailbox(store), story)
    await store.close()


async def add_all(board: TaskBoard, story: Story) -> None:
    numbers = iter(range(story.tasks))

    async def add() -> None:
        for number in numbers:
            await board.add(
                NewTask(
                    title=str(number),
                    description=story.description,
                    complexity=story.complexity(number),
                )
            )

    async with anyio.create_task_group() as crew:
        for number in range(story.agents):
            crew.start_soon(add, name=f"add-{number}")


async def work_all(board: TaskBoard, mailbox: Mailbox, story: Story) -> None:
    """Executors and advisors as the crew's loops do it: look, do, and wait for the bell."""
    left = story.tasks
    asked = itertools.count()

    async def execute(agent: Agent) -> None:
        nonlocal left
        work, fixes = board.listen(agent), board.listen_for_fixes(agent)
        fixing = False
        while left:
            # One ring may stand for several critiques, so look until there is none.
            fixing = fixes.rang() or fixing
            claim = await board.claim_critique(agent) if fixing else None
            fixing = claim is not None
            claim = claim or await board.claim_next(agent)
            if claim is None:
                await work.wait(POLL_SECONDS)
                continue
            done = await board.submit(claim, Work(result=story.result))
            left -= done.status is TaskStatus.COMPLETED
        crew.cancel_scope.cancel()

    async def advise(agent: Agent) -> None:
        nonlocal left
        ear = mailbox.listen(agent)
        while left:
            mail = await mailbox.receive(agent)
            if mail is None:
                await ear.wait(POLL_SECONDS)
                continue
            opinion = PASSED if next(asked) % 3 == 0 else REJECTED
            done = await board.add_critique(mail, opinion)
            left -= done.status is TaskStatus.COMPLETED
        crew.cancel_scope.cancel()

    async with anyio.create_task_group() as crew:
        for number in range(story.agents):
            role = Role.ADVISOR if number % 3 == 2 else Role.EXECUTOR
            agent = Agent(name=AgentName(f"{role}-{number}"), roles=frozenset({role}))
            crew.start_soon(advise if role is Role.ADVISOR else execute, agent, name=agent.name)
