"""Pieces that many stories share."""

from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.task import Task, TaskId, TaskStatus
from core.store.protocol import Answer
from core.task_board import Claim
from tests.support.board import ADA, PAT, House, some


async def claimed(house: House, task: Task) -> Claim:
    """A claim on this task, where it is the next piece of work."""
    claim = await house.claim(PAT if task.is_container else ADA)
    assert claim.task_id == task.id, f"{claim.task.title!r} came before {task.title!r}"
    return claim


async def finish(house: House, task: Task, result: str = "done") -> Task:
    """Work on this task, which has to be the next one, and hand in a result."""
    return await house.board.submit(await claimed(house, task), Work(result=result))


async def fail(house: House, task: Task) -> Task:
    return await house.board.fail(await claimed(house, task), "it can't be done")


async def redo(house: House, task: Task, result: str) -> Task:
    """Have it done again, with this result."""
    await house.board.people.redo(task.id, "again")
    return await finish(house, task, result)


async def plan(house: House, parent: Task, *new: NewTask) -> list[Task]:
    return await house.board.decompose(await claimed(house, parent), new)


async def close(house: House, parent: Task, answer: str = "the answer") -> Task:
    """Close out this request or milestone, which has to be the next one."""
    claim = some(await house.board.claim_close_out(PAT))
    assert claim.task_id == parent.id
    return await house.board.close_out(claim, answer)


async def status(house: House, task: Task | TaskId) -> TaskStatus:
    return (await house.task(task)).status


async def answers(house: House, task: Task) -> list[Answer]:
    """The versions that are kept beside the current result."""
    async with house.store.read() as reader:
        return await reader.answers(task.id)
