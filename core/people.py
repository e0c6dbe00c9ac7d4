"""People: the decisions a person makes about tasks, each one step on the board."""

from collections.abc import Sequence

from core.consequences import Consequences, descendants, effective_dependents, under_cancelled
from core.domain import decisions, lifecycle
from core.domain.feedback import Decision, Feedback, RedoOption
from core.domain.steps import Place, Step, allow, also, place_of
from core.domain.task import (
    CANCELLED,
    COMPLETED,
    FAILED,
    WORK,
    Kind,
    Task,
    TaskId,
    hash_of,
)
from core.errors import IllegalTransition
from core.recorder import Recorder
from core.retrying import retried
from core.store.protocol import Answer, Transaction


class People:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @retried
    async def approve(self, task_id: TaskId, text: str = "") -> Task:
        """Accept finished work, or take note of what needed attention."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            after = decisions.approve(before, now)
            said = decisions.decided(before, Decision.APPROVED, now, text)
            await keep.keep(Step.APPROVE, before, after, text=said.text)
            return await self._kept(tx, keep, task_id, said)

    async def close_unmerged(self, task_id: TaskId) -> Task:
        """Accept the result and leave its branch unmerged."""
        return await self._recorder.change(task_id, Step.CLOSE_UNMERGED, decisions.close_unmerged)

    @retried
    async def reject(self, task_id: TaskId, text: str = "") -> Task:
        """Refuse finished work; it rests until somebody reopens or cancels it."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            said = decisions.decided(before, Decision.REJECTED, now, text)
            after = decisions.reject(before, said)
            await keep.keep(Step.REJECT, before, after, text=said.text)
            return await self._kept(tx, keep, task_id, said)

    @retried
    async def revoke(self, task_id: TaskId) -> Task:
        """Look, after all, at work that was accepted without a person."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            cancelled = await under_cancelled(tx, before)
            after = decisions.revoke(before, under_cancelled=cancelled)
            said = decisions.decided(before, Decision.REVOKED, now)
            await keep.keep(Step.REVOKE, before, after, text=said.text)
            return await self._kept(tx, keep, task_id, said)

    @retried
    async def redo(
        self,
        task_id: TaskId,
        text: str = "",
        *,
        quick_issues: Sequence[str] = (),
        option: RedoOption = RedoOption.KEEP,
        hint: str = "normal",
    ) -> Task:
        """Have a task done again, or an answer written again, with what to change."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            said = Feedback(
                iteration=before.iterations,
                ts=now,
                decision=Decision.REDO,
                quick_issues=tuple(quick_issues),
                text=text,
                option=option,
                hint=hint,
            )
            cancelled = await under_cancelled(tx, before)
            after = decisions.redo(before, said, under_cancelled=cancelled)
            if before.kind is Kind.TASK:
                await self._call_back_dependents(tx, keep, before, now)
            await keep.keep(Step.REDO, before, after, text=said.text)
            return await self._kept(tx, keep, task_id, said)

    async def _call_back_dependents(
        self, tx: Transaction, keep: Consequences, redone: Task, now: float
    ) -> None:
        """Whoever builds on the old result stops, at no cost to their attempts."""
        for task_id in await effective_dependents(tx, redone.id):
            dependent = await tx.task(task_id)
            if dependent.phase is WORK:
                after = lifecycle.let_go(dependent, self._recorder.rules, now, attempt=False)
                await keep.keep(Step.LET_GO, dependent, after, text=f"{redone.id} is redone")

    async def defer(self, task_id: TaskId) -> Task:
        """Put it aside; nobody works on it until it is reopened."""
        return await self._recorder.change(
            task_id, Step.DEFER, lambda task, _: decisions.defer(task)
        )

    @retried
    async def reopen(self, task_id: TaskId, text: str = "") -> Task:
        """Take up what was deferred or rejected, or answer the question it is blocked on."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            question = place_of(before) is Place.BLOCKED_QUESTION
            decision = Decision.ANSWERED if question else Decision.REOPENED
            said = decisions.decided(before, decision, now, text)
            after = decisions.reopen(before, said)
            await keep.keep(Step.REOPEN, before, after, text=said.text)
            return await self._kept(tx, keep, task_id, said)

    @retried
    async def retry(self, task_id: TaskId, *, budget_raised: bool = False) -> Task:
        """Try again what failed, or go on after a stop by the budget once that was raised."""
        async with self._recorder.store.transaction() as tx:
            keep = self._recorder.consequences(tx)
            before = await tx.task(task_id)
            if place_of(before) is Place.BLOCKED_BUDGET:
                allow(
                    before,
                    Step.RETRY,
                    when=budget_raised,
                    why="raise its budget first",
                )
            await self._retry(tx, keep, before)
            await keep.follow()
            return await tx.task(task_id)

    async def _retry(self, tx: Transaction, keep: Consequences, before: Task) -> None:
        """With its failed children, all levels, where nothing of them was completed."""
        cancelled = await under_cancelled(tx, before)
        after = decisions.retry(before, under_cancelled=cancelled)
        if place_of(before) is Place.NOTHING_COMPLETED:
            failed = await _to_retry(tx, before)
            if not failed:
                raise IllegalTransition(
                    before.id, place_of(before), Step.RETRY, "none of its tasks has failed"
                )
            for child in failed:
                await self._retry(tx, keep, child)
        await keep.keep(Step.RETRY, before, after)

    @retried
    async def cancel(self, task_id: TaskId) -> Task:
        """Go on without it and all that lies below it; what is completed stays."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            await keep.keep(Step.CANCEL, before, decisions.cancel(before, now))
            for below in await descendants(tx, task_id):
                child = await tx.task(below)
                if child.status not in (COMPLETED, CANCELLED):
                    await keep.keep(Step.CANCEL, child, decisions.cancel(child, now))
            await keep.follow()
            return await tx.task(task_id)

    async def budget(self, task_id: TaskId) -> Task:
        """The request's budget is spent: nothing below it is claimed until it is raised."""
        return await self._recorder.change(
            task_id, Step.BUDGET, lambda task, _: decisions.budget(task)
        )

    @retried
    async def partial_answer(self, task_id: TaskId, text: str) -> Task:
        """Keep one honest answer, once per stop, from what there is when the budget is spent."""
        async with self._recorder.store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(task_id)
            after = decisions.partial_answer(before)
            version = before.answers + 1
            tx.add_answer(
                Answer(
                    task=task_id,
                    version=version,
                    hash=hash_of(text),
                    partial=True,
                    ts=now,
                    text=text,
                )
            )
            also(after, answers=version)
            await keep.keep(Step.PARTIAL_ANSWER, before, after)
            await keep.follow()
            return await tx.task(task_id)

    async def _kept(
        self, tx: Transaction, keep: Consequences, task_id: TaskId, said: Feedback
    ) -> Task:
        """Keep a decision's place in the task's history, and what follows from it."""
        tx.add_feedback(task_id, said)
        await keep.follow()
        return await tx.task(task_id)


async def _to_retry(tx: Transaction, parent: Task) -> list[Task]:
    """The failed children of which, at some level, a task has failed."""
    failed = [child for child in await tx.children(parent.id) if child.status is FAILED]
    return [
        child
        for child in failed
        if place_of(child) is not Place.NOTHING_COMPLETED or await _to_retry(tx, child)
    ]
