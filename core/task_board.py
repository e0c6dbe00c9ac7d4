"""TaskBoard: the one door through which a task changes."""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from core.bell import EVENTS, Ear, Watch
from core.charges import Charges
from core.claiming import Claim, Claiming, Roots
from core.consequences import (
    Listener,
    below,
    lost_topic,
    own_fix_topic,
    wake_topic,
)
from core.domain import conditions, decisions, lifecycle, message
from core.domain.agent import Agent, Crew, Role
from core.domain.critique import Advice, Critique
from core.domain.events import Event
from core.domain.feedback import Decision
from core.domain.message import Message
from core.domain.plan import NewTask
from core.domain.reports import Closing, Work
from core.domain.rules import Rules
from core.domain.steps import Step, place_of
from core.domain.task import (
    CLOSE_OUT,
    COMPLETED,
    FIX,
    PLAN,
    WORK,
    AgentName,
    Kind,
    Signal,
    Task,
    TaskId,
)
from core.errors import AmbiguousId, IllegalTransition, OwnWork, TaskNotFound
from core.new_tasks import NewTasks
from core.people import People
from core.process import this_process
from core.recorder import Recorder
from core.recovery import Recovery, let_go
from core.replies import Replies
from core.retrying import retried
from core.store.protocol import Store

__all__ = ["Claim", "Roots", "TaskBoard"]

REMEMBERED_REQUESTS = 1000
_WAITS_FOR = {
    Role.PLANNER: (PLAN, CLOSE_OUT),
    Role.EXECUTOR: (WORK, FIX),
    Role.ADVISOR: (),
}


class TaskBoard:
    """What agents do stands here, what people decide in `people`; nothing else writes tasks."""

    def __init__(
        self,
        store: Store,
        rules: Rules | None = None,
        *,
        listeners: Sequence[Listener] = (),
        process: str | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._store = store
        self._rules = rules or Rules()
        self._recorder = Recorder(store, self._rules, listeners)
        self.people = People(self._recorder)
        self._recovery = Recovery(self._recorder)
        self.replies = Replies(store)
        self.charges = Charges(store, self._rules.budget)
        self.claiming = Claiming(self._recorder, process or str(this_process()))
        self._chance = chance or random.Random()
        self._words: dict[TaskId, str] = {}

    # Asking

    @retried
    async def get(self, task_id: TaskId) -> Task:
        async with self._store.read() as reader:
            return await reader.task(task_id)

    @retried
    async def find(self, prefix: str) -> Task:
        """The task whose id is this, or begins with it when only one does."""
        async with self._store.read() as reader:
            if await reader.has_task(TaskId(prefix)):
                return await reader.task(TaskId(prefix))
            matches = await reader.ids_like(prefix, limit=5) if prefix else []
            if len(matches) > 1:
                raise AmbiguousId(prefix, [str(match) for match in matches])
            if not matches:
                raise TaskNotFound(prefix)
            return await reader.task(matches[0])

    @retried
    async def collect_results(self, parent: TaskId) -> list[Task]:
        """What an answer is written from: the subtree below a parent, in plan order."""
        async with self._store.read() as reader:
            return [task for task in await below(reader, parent) if task.kind is not Kind.IDEA]

    async def words(self, root: TaskId) -> str:
        """What a person asked for with this root, which never changes."""
        if root not in self._words:
            if len(self._words) >= REMEMBERED_REQUESTS:
                self._words.clear()
            asked = await self.get(root)
            self._words[root] = asked.description or asked.title
        return self._words[root]

    @retried
    async def events(self, after: int, limit: int = 1000) -> list[Event]:
        async with self._store.read() as reader:
            return await reader.events(after, limit)

    # Waiting

    def listen(self, agent: Agent) -> Ear:
        """Hear of work this agent could claim; listen, then try to claim, then wait."""
        topics = [wake_topic(phase) for role in agent.roles for phase in _WAITS_FOR[role]]
        return self._store.bell.listen(*topics, own_fix_topic(agent.name))

    def listen_for_fixes(self, agent: Agent) -> Ear:
        """Hear of critiques this agent could claim, so that it need not look each time."""
        return self._store.bell.listen(wake_topic(FIX), own_fix_topic(agent.name))

    def listen_for_events(self) -> Ear:
        return self._store.bell.listen(EVENTS)

    def when_lost(self, claim: Claim, tell: Callable[[], object]) -> Watch:
        """Inside this, call this at once when somebody in this process ends the claim."""
        return self._store.bell.watch({lost_topic(claim.task_id, claim.fence): tell})

    def when_work_comes(
        self, agents: Sequence[Agent], tell: Callable[[AgentName | None], object]
    ) -> Watch:
        """Inside this, name who may find something to claim now; None stands for any of them."""
        acts: dict[str, Callable[[], object]] = {}
        for agent in agents:
            phases = [phase for role in agent.roles for phase in _WAITS_FOR[role]]
            acts |= dict.fromkeys(map(wake_topic, phases), lambda: tell(None))
            acts[own_fix_topic(agent.name)] = partial(tell, agent.name)
        if wake_topic(FIX) in acts:
            acts[wake_topic(FIX)] = lambda: [tell(agent.name) for agent in agents]
        return self._store.bell.watch(acts)

    @retried
    async def busy(self, roots: Roots = None) -> bool:
        """Agents can do something now, or are at it; else nothing moves without a person."""
        async with self._store.read() as reader:
            return await reader.busy(roots)

    @retried
    async def family(self, root: TaskId) -> list[Task]:
        """A root and all that lies below it, in plan order."""
        async with self._store.read() as reader:
            return await reader.family(root)

    # Adding

    @retried
    async def add(self, new: NewTask, *, parent: TaskId | None = None) -> Task:
        """Add a root (a request or a single task), or a child of a parent already planned."""
        async with self._store.transaction() as tx:
            keep = self._recorder.consequences(tx)
            born = NewTasks(tx, keep, self._rules.limits, self._chance)
            if parent is None:
                task = await born.add_root(new)
            else:
                task = await born.add_child(await tx.task(parent), new)
            await keep.follow()
            return await tx.task(task.id)

    async def add_request(self, text: str, *, tags: Sequence[str] = ()) -> Task:
        """Add what a person asked for; its title is the first line."""
        title = text.strip().partition("\n")[0][:200]
        return await self.add(
            NewTask(title=title, description=text, kind=Kind.REQUEST, tags=tuple(tags))
        )

    @retried
    async def promote(self, task_id: TaskId) -> Task:
        """Make an idea a task to be done."""
        async with self._store.transaction() as tx:
            keep = self._recorder.consequences(tx)
            before = await tx.task(task_id)
            after = decisions.promote(before)
            if before.parent is not None:
                born = NewTasks(tx, keep, self._rules.limits, self._chance)
                await born.check_parent(await tx.task(before.parent), Step.PROMOTE)
            await keep.keep(Step.PROMOTE, before, after)
            await keep.follow()
            return await tx.task(task_id)

    @retried
    async def decompose(self, claim: Claim, plan: Sequence[NewTask]) -> list[Task]:
        """Hand in a plan: the request waits, its children are there, in one transaction."""
        async with self._store.transaction() as tx:
            keep = self._recorder.consequences(tx)
            before = await tx.task(claim.task_id)
            after = lifecycle.decompose(before, claim.fence)
            if any(child.kind is not Kind.IDEA for child in await tx.children(before.id)):
                raise IllegalTransition(
                    before.id, place_of(before), Step.DECOMPOSE, "it has a plan already"
                )
            born = NewTasks(tx, keep, self._rules.limits, self._chance)
            children = await born.add_plan(after, plan)
            ids = tuple(child.id for child in children)
            await keep.keep(Step.DECOMPOSE, before, after, children=ids)
            await keep.follow()
            return [await tx.task(task_id) for task_id in ids]

    # Claiming

    async def claim_next(self, agent: Agent, *, roots: Roots = None) -> Claim | None:
        """Take the next piece of work this agent may do, if any is ready."""
        return await self.claiming.claim_next(agent, roots)

    async def claim_critique(self, agent: Agent, *, roots: Roots = None) -> Claim | None:
        """Take a critique to fix: one's own, or one that waited too long for its executor."""
        return await self.claiming.claim_critique(agent, roots)

    async def claim_close_out(self, agent: Agent, *, roots: Roots = None) -> Claim | None:
        """Take a request or milestone whose children are all settled."""
        return await self.claiming.claim_close_out(agent, roots)

    async def claim_merge(self, agent: Agent) -> Claim | None:
        """Take accepted code to merge; from here a cancel waits for the merge."""
        return await self.claiming.claim_merge(agent)

    async def heartbeat(self, claims: Iterable[Claim]) -> list[Claim]:
        """Renew the leases of these claims; returns those that are lost."""
        return await self.claiming.heartbeat(claims)

    # Reporting

    async def iterate(self, claim: Claim, draft: str | None = None) -> Task:
        """One working pass is over, another follows; a draft of it is kept."""
        return await self._recorder.change(
            claim.task_id,
            Step.ITERATE,
            lambda task, _: lifecycle.iterate(task, claim.fence, draft, self._rules),
        )

    async def submit(self, claim: Claim, work: Work) -> Task:
        """Hand in a result: to the advisor when advice is due, else to whoever has to look."""
        return await self._recorder.change(
            claim.task_id,
            Step.SUBMIT,
            lambda task, now: lifecycle.submit(task, claim.fence, work, self._rules, now),
        )

    async def submit_for_review(self, claim: Claim, work: Work) -> Task:
        """Submit where advice is due; refused where it is not."""
        return await self._submit_if(claim, work, advised=True)

    async def complete(self, claim: Claim, work: Work) -> Task:
        """Submit where no advice is due, or close out; refused otherwise."""
        if claim.phase is CLOSE_OUT:
            return await self.close_out(claim, work.result)
        return await self._submit_if(claim, work, advised=False)

    async def _submit_if(self, claim: Claim, work: Work, *, advised: bool) -> Task:
        def change(task: Task, now: float) -> Task:
            lifecycle.hold(task, claim.fence)
            if lifecycle.needs_advice(task, self._rules) is not advised:
                why = "no advice is due" if advised else "advice is due first"
                raise IllegalTransition(task.id, place_of(task), Step.SUBMIT, why)
            return lifecycle.submit(task, claim.fence, work, self._rules, now)

        return await self._recorder.change(claim.task_id, Step.SUBMIT, change)

    @retried
    async def add_critique(self, mail: Message, advice: Advice) -> Task:
        """Answer the mail of a review; an answer to anything but the current one is only kept."""
        assert mail.task is not None, "a critique answers a mail about a task"
        assert mail.agent is not None, "a critique answers a mail that was taken"
        async with self._store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(mail.task)
            if mail.agent in before.worked_on_by:
                raise OwnWork(before.id, mail.agent)
            current = await tx.message(mail.number)
            critique = Critique(
                reviewer=mail.agent,
                **advice.__dict__,
                ts=now,
                result_hash=mail.result_hash or "",
                cycle=mail.cycle or 0,
                mail=mail.number,
                late=not message.answers(current, mail.fence, before),
            )
            tx.add_critique(before, critique)
            if critique.late:
                keep.tell_late(before, critique)
                return before
            tx.put_message(message.acknowledge(current, mail.fence))
            after = lifecycle.add_critique(before, critique, self._rules, now)
            await keep.keep(Step.ADD_CRITIQUE, before, after, critique=critique)
            await keep.follow()
            return await tx.task(before.id)

    @retried
    async def close_out(self, claim: Claim, answer: str) -> Task:
        """Write the answer of a request or milestone from its settled children."""
        async with self._store.transaction() as tx:
            keep, now = self._recorder.consequences(tx), tx.now
            before = await tx.task(claim.task_id)
            lifecycle.hold(before, claim.fence)
            children = [one for one in await tx.children(before.id) if one.kind is not Kind.IDEA]
            if not all(child.settled for child in children):
                raise IllegalTransition(
                    before.id, place_of(before), Step.CLOSE_OUT, "a child is not settled"
                )
            closing = Closing(
                answer=answer,
                anything_completed=any(one.status is COMPLETED for one in children),
                children=conditions.fingerprint(children),
            )
            after = lifecycle.close_out(before, claim.fence, closing, now)
            await keep.keep(Step.CLOSE_OUT, before, after)
            await keep.follow()
            return await tx.task(before.id)

    @retried
    async def let_go(self, claim: Claim, because: str | None = None) -> Task:
        """Give a claim up. With a cause it counts as an attempt; a stop or an outage has none."""
        async with self._store.transaction() as tx:
            before = await tx.task(claim.task_id)
            lifecycle.hold(before, claim.fence)
            attempt = because is not None
            return await let_go(self._recorder, tx, before, because or "", attempt=attempt)

    async def signal(self, claim: Claim, kind: Signal, question: str) -> Task:
        """Stop with a question to a person."""
        return await self._recorder.change(
            claim.task_id,
            Step.SIGNAL,
            lambda task, _: lifecycle.signal(task, claim.fence, kind, question),
            text=question,
        )

    async def fail(self, claim: Claim, cause: str) -> Task:
        """Give up for good."""
        return await self._recorder.change(
            claim.task_id,
            Step.FAIL,
            lambda task, _: lifecycle.fail(task, claim.fence, cause),
            text=cause,
        )

    async def merged(self, claim: Claim) -> Task:
        return await self._recorder.change(
            claim.task_id,
            Step.MERGED,
            lambda task, now: decisions.merged(task, claim.fence, now),
        )

    async def conflict(self, claim: Claim, text: str) -> Task:
        """The branch does not merge; what git said goes to the executor, then to a person."""

        def change(task: Task, now: float) -> Task:
            said = decisions.decided(task, Decision.CONFLICT, now, text)
            return decisions.conflict(task, claim.fence, said, now)

        return await self._recorder.change(claim.task_id, Step.CONFLICT, change, text=text)

    async def merge_failed(self, claim: Claim, cause: str) -> Task:
        return await self._recorder.change(
            claim.task_id,
            Step.MERGE_FAILED,
            lambda task, now: decisions.merge_failed(task, claim.fence, cause, now),
            text=cause,
        )

    # Recovering

    async def recover_stale_tasks(self, crew: Crew | None = None) -> list[Task]:
        """Take back what nobody works on any more; returns the tasks it moved."""
        return await self._recovery.sweep(crew or Crew())
