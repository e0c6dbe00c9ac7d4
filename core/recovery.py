"""Recovery: takes back what nobody works on any more, and ends what waited too long."""

from collections.abc import Callable

from core.consequences import wake_topic
from core.domain import lifecycle
from core.domain.agent import Crew
from core.domain.frozen import evolve
from core.domain.message import MailStatus, Message
from core.domain.steps import Place, Step, also, place_of
from core.domain.task import (
    CRITIQUE,
    FAILED,
    FIX,
    MERGE,
    REVIEW,
    Task,
    TaskId,
)
from core.process import surely_dead
from core.recorder import Recorder
from core.retrying import retried
from core.store.protocol import Transaction

Change = Callable[[Task, float], Task]


async def let_go(
    recorder: Recorder, tx: Transaction, before: Task, because: str, *, attempt: bool
) -> Task:
    """Return a claimed task; while its request's budget is spent that costs no attempt."""
    keep, now = recorder.consequences(tx), tx.now
    root = await tx.task(before.root)
    paused = root.id != before.id and place_of(root) is Place.BLOCKED_BUDGET
    after = lifecycle.let_go(before, recorder.rules, now, attempt=attempt and not paused)
    if after.status is FAILED:
        also(after, message=because)
    await keep.keep(Step.LET_GO, before, after, text=because)
    await keep.follow()
    return await tx.task(before.id)


class Recovery:
    """Each task is looked at again in the transaction that moves it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._limits = recorder.rules.limits
        self._seen_waiting: dict[TaskId, float] = {}
        """When this process last saw a task wait for somebody who did not come."""

    @retried
    async def sweep(self, crew: Crew) -> list[Task]:
        async with self._recorder.store.read() as reader:
            held = [task for task in await reader.held() if self._is_over(task, reader.now)]
            asked = await reader.messages(MailStatus.QUEUED, MailStatus.DEAD)
            reviews = [
                mail.task
                for mail in asked
                if mail.task
                and _needs_a_look(mail, crew)
                and (await reader.task(mail.task)).review_mail == mail.number
            ]
            idle = crew.has_idle_executor
            critiques = [task.id for task in await reader.to_be_fixed()] if idle else []
        # Whoever is not seen waiting now has not waited since the last look.
        waiting = {*reviews, *critiques}
        seen = self._seen_waiting.items()
        self._seen_waiting = {name: when for name, when in seen if name in waiting}
        moved = [await self._end_claim(task.id) for task in held]
        moved += [await self._watch_review(task_id, crew) for task_id in reviews]
        moved += [await self._watch_critique(task_id) for task_id in critiques]
        return [task for task in moved if task is not None]

    def _is_over(self, task: Task, now: float) -> bool:
        return _is_abandoned(task, now) or self._is_overdue(task, now)

    def _is_overdue(self, task: Task, now: float) -> bool:
        if task.claimed_at is None or task.phase is None or task.phase is MERGE:
            return False
        return now >= task.claimed_at + self._limits.timeout_seconds(task.type, task.phase)

    @retried
    async def _end_claim(self, task_id: TaskId) -> Task | None:
        """A lost lease is an attempt; a claim that lives too long is timed out."""
        async with self._recorder.store.transaction() as tx:
            before = await tx.task(task_id)
            now = tx.now
            if before.holder is None:
                return None
            if _is_abandoned(before, now):
                return await let_go(
                    self._recorder, tx, before, "its holder went silent", attempt=True
                )
            if not self._is_overdue(before, now):
                return None
            keep = self._recorder.consequences(tx)
            await keep.keep(Step.TIMEOUT, before, lifecycle.timeout(before))
            await keep.follow()
            return await tx.task(task_id)

    @retried
    async def _watch_review(self, task_id: TaskId, crew: Crew) -> Task | None:
        """A review nobody can answer goes to a person."""
        async with self._recorder.store.transaction() as tx:
            before = await tx.task(task_id)
            if before.status is not REVIEW or before.review_mail is None:
                return None
            mail = await tx.message(before.review_mail)
            waited = before
            if mail.status is not MailStatus.DEAD:
                if not crew.agents or crew.may_advise(before.worked_on_by):
                    return None
                waited = self._watched(tx, before)
                if waited.waited_idle_seconds < self._limits.no_advice_seconds:
                    return None
            keep = self._recorder.consequences(tx)
            await keep.keep(Step.NO_ADVICE, waited, lifecycle.no_advice(waited))
            await keep.follow()
            return await tx.task(task_id)

    @retried
    async def _watch_critique(self, task_id: TaskId) -> Task | None:
        """A critique nobody fixes is forced; only time in which somebody idle could have counts."""
        async with self._recorder.store.transaction() as tx:
            before = await tx.task(task_id)
            root = await tx.task(before.root)
            if before.status is not CRITIQUE or place_of(root) is Place.BLOCKED_BUDGET:
                return None
            waited = self._watched(tx, before)
            if waited.waited_idle_seconds < self._limits.critique_forced_seconds:
                return None
            keep, now = self._recorder.consequences(tx), tx.now
            after = lifecycle.stale_critique(waited, self._recorder.rules, now)
            await keep.keep(Step.STALE_CRITIQUE, waited, after)
            await keep.follow()
            return await tx.task(task_id)

    def _watched(self, tx: Transaction, task: Task) -> Task:
        """Count the time since it was last seen waiting, once however many processes look.

        A gap longer than a lease was a time in which this process did not run.
        """
        now = tx.now
        since = max(self._seen_waiting.get(task.id, now), task.watched_at or 0.0)
        counted = now - since if now - since <= self._limits.lease_seconds else 0.0
        self._seen_waiting[task.id] = now
        watched = evolve(
            task,
            {
                "watched_at": now,
                "waited_idle_seconds": task.waited_idle_seconds + counted,
                "version": task.version + 1,
            },
        )
        tx.put_task(watched, ("watched_at", "waited_idle_seconds", "version"))
        own = self._limits.critique_own_seconds
        if task.waited_idle_seconds < own <= watched.waited_idle_seconds:
            tx.ring(wake_topic(FIX))
        return watched


def _needs_a_look(mail: Message, crew: Crew) -> bool:
    """A dead letter, or one that nobody who runs now may take."""
    if mail.status is MailStatus.DEAD:
        return True
    return bool(crew.agents) and not crew.may_advise(mail.not_for)


def _is_abandoned(task: Task, now: float) -> bool:
    if task.holder is None or task.lease_until is None:
        return False
    return now >= task.lease_until or surely_dead(task.holder)
