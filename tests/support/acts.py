"""Every step as something a test does to a task, through the doors everybody uses."""

from collections.abc import Awaitable, Callable

from core.domain.agent import Crew
from core.domain.critique import Advice, Opinion
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.steps import Step
from core.domain.task import Complexity, Kind, Phase, Signal, Task, TaskStatus
from core.task_board import Claim
from tests.support.board import ADA, BOB, EVE, MERGER, PAT, House, some

Act = Callable[[House, Task], Awaitable[object]]

ON_ITS_OWN = ("review:auto",)
"""Tags of work that never needs a person, whatever the rules of the house."""
PART = NewTask(title="a part", complexity=Complexity.SIMPLE, planner_tags=ON_ITS_OWN)
NO_ADVISOR = Crew(agents=(ADA,))
IDLE = Crew(agents=(ADA, EVE), idle=frozenset({ADA.name}))


def claim_of(task: Task) -> Claim:
    """A claim under the current fence, whether somebody holds the task or not."""
    return Claim(task, task.phase or Phase.WORK, task.fence)


async def dependency_of(house: House, task: Task) -> Task:
    """What the task, or the request it belongs to, depends on."""
    root = await house.task(task.root)
    return await house.task(root.depends_on[0])


async def claim_next(house: House, task: Task) -> None:
    found = await house.board.claim_next(PAT if task.is_container else ADA)
    assert found is None or found.task_id == task.id


async def claim_critique(house: House, task: Task) -> None:
    found = await house.board.claim_critique(ADA)
    assert found is None or found.task_id == task.id


async def claim_close_out(house: House, task: Task) -> None:
    found = await house.board.claim_close_out(PAT)
    assert found is None or found.task_id == task.id


async def claim_merge(house: House, task: Task) -> None:
    found = await house.board.claim_merge(MERGER)
    assert found is None or found.task_id == task.id


async def decompose(house: House, task: Task) -> object:
    return await house.board.decompose(claim_of(task), [PART])


async def iterate(house: House, task: Task) -> object:
    return await house.board.iterate(claim_of(task), "a draft")


async def submit(house: House, task: Task) -> object:
    return await house.board.submit(claim_of(task), Work(result="a result"))


async def _advise(house: House, task: Task, opinion: Opinion) -> None:
    mail = await house.mailbox.receive(EVE)
    if mail is None:
        return
    suggestions = ("name the source",) if opinion is Opinion.REJECTED else ()
    await house.board.add_critique(mail, Advice(opinion=opinion, suggestions=suggestions))


async def let_pass(house: House, task: Task) -> None:
    await _advise(house, task, Opinion.PASSED)


async def criticise(house: House, task: Task) -> None:
    await _advise(house, task, Opinion.REJECTED)


async def want_discussion(house: House, task: Task) -> None:
    await _advise(house, task, Opinion.NEEDS_DISCUSSION)


async def nobody_advises(house: House, task: Task) -> None:
    await house.board.recover_stale_tasks(NO_ADVISOR)
    house.clock.jump(300)
    await house.board.recover_stale_tasks(NO_ADVISOR)


async def nobody_fixes(house: House, task: Task) -> None:
    await house.board.recover_stale_tasks(IDLE)
    house.clock.jump(300)
    await house.board.recover_stale_tasks(IDLE)


async def takes_too_long(house: House, task: Task) -> None:
    house.clock.jump(30 * 60)
    await house.board.recover_stale_tasks()


async def close_out(house: House, task: Task) -> object:
    return await house.board.close_out(claim_of(task), "an answer")


async def let_go(house: House, task: Task) -> object:
    return await house.board.let_go(claim_of(task), "it broke")


async def ask(house: House, task: Task) -> object:
    return await house.board.signal(claim_of(task), Signal.NEEDS_HUMAN, "which one?")


async def fail(house: House, task: Task) -> object:
    return await house.board.fail(claim_of(task), "it can't be done")


async def merged(house: House, task: Task) -> object:
    return await house.board.merged(claim_of(task))


async def conflict(house: House, task: Task) -> object:
    return await house.board.conflict(claim_of(task), "both changed it")


async def merge_failed(house: House, task: Task) -> object:
    return await house.board.merge_failed(claim_of(task), "the branch is gone")


async def promote(house: House, task: Task) -> object:
    return await house.board.promote(task.id)


async def approve(house: House, task: Task) -> object:
    return await house.board.people.approve(task.id)


async def close_unmerged(house: House, task: Task) -> object:
    return await house.board.people.close_unmerged(task.id)


async def reject(house: House, task: Task) -> object:
    return await house.board.people.reject(task.id, "not this way")


async def revoke(house: House, task: Task) -> object:
    return await house.board.people.revoke(task.id)


async def redo(house: House, task: Task) -> object:
    return await house.board.people.redo(task.id, "shorter")


async def defer(house: House, task: Task) -> object:
    return await house.board.people.defer(task.id)


async def reopen(house: House, task: Task) -> object:
    return await house.board.people.reopen(task.id, "the second")


async def retry(house: House, task: Task) -> object:
    return await house.board.people.retry(task.id, budget_raised=True)


async def spend_budget(house: House, task: Task) -> object:
    return await house.board.people.budget(task.id)


async def partial_answer(house: House, task: Task) -> object:
    return await house.board.people.partial_answer(task.id, "as far as it goes")


async def cancel(house: House, task: Task) -> object:
    return await house.board.people.cancel(task.id)


async def dependency_is_worked_on_again(house: House, task: Task) -> Claim:
    """Not by a redo, which would call dependents back: because its own dependency was redone."""
    dependency = await dependency_of(house, task)
    ground = dependency.depends_on[0]
    await house.board.people.redo(ground, "another way")
    first = some(await house.board.claim_next(BOB, roots=frozenset({ground})))
    await house.board.submit(first, Work(result="the ground, dug again"))
    return some(await house.board.claim_next(BOB, roots=frozenset({dependency.id})))


async def lose_dependency(house: House, task: Task) -> None:
    claim = await dependency_is_worked_on_again(house, task)
    await house.board.fail(claim, "gone")


async def dependency_comes_back(house: House, task: Task) -> None:
    dependency = await dependency_of(house, task)
    if dependency.status is not TaskStatus.FAILED:
        await lose_dependency(house, task)
    await house.board.people.retry(dependency.id)


async def dependency_changes(house: House, task: Task) -> None:
    claim = await dependency_is_worked_on_again(house, task)
    await house.board.submit(claim, Work(result="another foundation"))


async def open_a_child(house: House, task: Task) -> object:
    """Redo or retry a child, or add one."""
    for child in await house.board.collect_results(task.id):
        if child.status is TaskStatus.COMPLETED:
            return await house.board.people.redo(child.id, "again")
        if child.status is TaskStatus.FAILED:
            return await house.board.people.retry(child.id)
    return await house.board.add(PART, parent=task.id)


async def _child_claim(house: House, task: Task) -> Claim:
    return some(await house.board.claim_next(ADA, roots=frozenset({task.root})))


async def finish_child(house: House, task: Task) -> object:
    return await house.board.submit(await _child_claim(house, task), Work(result="a part of it"))


async def fail_child(house: House, task: Task) -> object:
    return await house.board.fail(await _child_claim(house, task), "it can't be done")


async def cancel_child(house: House, task: Task) -> object:
    (child,) = await house.board.collect_results(task.id)
    return await house.board.people.cancel(child.id)


async def new_task(house: House, fields: dict[str, object]) -> Task:
    """A single task that rests on a dependency, which rests on another."""
    return await house.add("build on it", **{"depends_on": await _foundation(house)} | fields)


async def new_request(house: House, fields: dict[str, object]) -> Task:
    depends_on = await _foundation(house)
    new = NewTask(title="a request", kind=Kind.REQUEST, depends_on=depends_on)
    return await house.board.add(new)


async def new_milestone(house: House, fields: dict[str, object]) -> Task:
    """Beside a task that is put aside, so that its request stays open."""
    return await _beside_a_deferred_task(house, NewTask(title="half", kind=Kind.MILESTONE))


async def new_idea(house: House, fields: dict[str, object]) -> Task:
    return await _beside_a_deferred_task(house, NewTask(title="perhaps", kind=Kind.IDEA))


async def _beside_a_deferred_task(house: House, new: NewTask) -> Task:
    await new_request(house, {})
    claim = await house.claim(PAT)
    task, aside = await house.board.decompose(claim, [new, PART])
    await house.board.people.defer(aside.id)
    return await house.task(task)


async def _foundation(house: House) -> tuple[str]:
    simple = {"complexity": Complexity.SIMPLE, "tags": ON_ITS_OWN}
    ground = await house.add("the ground", **simple)
    await house.submit("the ground, dug")
    foundation = await house.add("the foundation", **simple, depends_on=(ground.id,))
    await house.submit("a foundation")
    return (foundation.id,)


ACTS: dict[Step, Act] = {
    Step.PROMOTE: promote,
    Step.CLAIM_NEXT: claim_next,
    Step.DECOMPOSE: decompose,
    Step.ITERATE: iterate,
    Step.SUBMIT: submit,
    Step.ADD_CRITIQUE: let_pass,
    Step.NO_ADVICE: nobody_advises,
    Step.CLAIM_CRITIQUE: claim_critique,
    Step.STALE_CRITIQUE: nobody_fixes,
    Step.CLAIM_CLOSE_OUT: claim_close_out,
    Step.CLOSE_OUT: close_out,
    Step.LET_GO: let_go,
    Step.SIGNAL: ask,
    Step.FAIL: fail,
    Step.TIMEOUT: takes_too_long,
    Step.CLAIM_MERGE: claim_merge,
    Step.MERGED: merged,
    Step.CONFLICT: conflict,
    Step.MERGE_FAILED: merge_failed,
    Step.APPROVE: approve,
    Step.CLOSE_UNMERGED: close_unmerged,
    Step.REJECT: reject,
    Step.REVOKE: revoke,
    Step.REDO: redo,
    Step.DEFER: defer,
    Step.REOPEN: reopen,
    Step.RETRY: retry,
    Step.BUDGET: spend_budget,
    Step.PARTIAL_ANSWER: partial_answer,
    Step.CANCEL: cancel,
    Step.DEPENDENCY_LOST: lose_dependency,
    Step.DEPENDENCY_BACK: dependency_comes_back,
    Step.STALE: dependency_changes,
    Step.PARENT_OPENED: open_a_child,
    Step.RESTORE: finish_child,
}
