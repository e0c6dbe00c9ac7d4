"""Any order of steps keeps the promises: the real board, a real file, a clock we own."""

import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.domain.agent import Agent
from core.domain.critique import Advice, Opinion, advice
from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.lifecycle import Work
from core.domain.limits import Limits
from core.domain.message import Message
from core.domain.plan import NewTask
from core.domain.rules import Rules
from core.domain.task import Complexity, Kind, Phase, Signal, Task, TaskId
from core.errors import ClaimLost, IllegalTransition, MailLost, StoreError, SwarmError
from core.flows.recovery import recover
from core.invariants import check
from core.mailbox import Mailbox
from core.store.sqlite import Batch, SqliteStore, Synchronous
from core.task_board import Claim, TaskBoard
from tests.support.board import ADA, BOB, CREW, EVE, MERGER, PAT
from tests.support.clock import VirtualClock

T = TypeVar("T")

RULES = Rules(
    limits=Limits(max_iterations=4, request_tasks=12, task_timeout_minutes=10),
    review=ReviewRules(default_mode=ReviewMode.AUTO),
)
EXECUTORS = st.sampled_from([ADA, BOB])
RESULTS = st.sampled_from(["red", "green", "blue"])
"""Few, so that a redo often comes to the same result."""
PICK = st.integers(min_value=0, max_value=63)
TAGS = st.sampled_from([(), (), (), ("review:batch",), ("review:skip",), ("review:per-task",)])
OPINIONS = st.sampled_from(
    [
        advice(passed=True),
        advice(passed=False, suggestions=["name the source"]),
        advice(passed=False, suggestions=["name the source"]),
        advice(passed=False),
        Advice(opinion=Opinion.NEEDS_DISCUSSION),
    ]
)
DECISIONS = (
    *("approve", "approve", "close_unmerged", "reject", "revoke"),
    *("defer", "reopen", "retry", "budget", "cancel"),
)
SEVERAL_KINDS = st.sampled_from([Kind.TASK, Kind.TASK, Kind.TASK, Kind.MILESTONE, Kind.IDEA])


@st.composite
def plans(draw: st.DrawFn) -> list[NewTask]:
    """Up to three parts, each of which may depend on earlier ones."""
    plan: list[NewTask] = []
    for number in range(draw(st.integers(min_value=1, max_value=3))):
        earlier = [new.key for new in plan if new.kind is not Kind.IDEA and new.key]
        chosen = draw(st.lists(st.sampled_from(earlier), max_size=2)) if earlier else []
        plan.append(
            NewTask(
                title=f"part {number}",
                key=f"k{number}",
                kind=draw(SEVERAL_KINDS),
                code=draw(st.booleans()),
                complexity=draw(st.sampled_from(Complexity)),
                depends_on=tuple(chosen),
                tags=draw(TAGS),
            )
        )
    return plan


class _DiedError(BaseException):
    """The process is gone."""


class BoardInUse(RuleBasedStateMachine):
    """Whatever is tried, in whatever order, is done whole or refused whole."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock = VirtualClock()
        self.portal_owner = anyio.from_thread.start_blocking_portal()
        self.portal = self.portal_owner.__enter__()
        self.ids: list[TaskId] = []
        self.claims: list[Claim] = []
        self.mail: list[Message] = []
        self._open_store()

    def _open_store(self) -> None:
        async def opening() -> SqliteStore:
            return await SqliteStore.open(
                self.folder / "swarm.db", clock=self.clock, synchronous=Synchronous.NORMAL
            )

        self.store = self.portal.call(opening)
        self.board = TaskBoard(self.store, RULES, chance=Random(len(self.ids)))
        self.mailbox = Mailbox(self.store, RULES.limits)

    def teardown(self) -> None:
        if hasattr(self, "portal"):
            self.portal.call(self.store.close)
            self.portal_owner.__exit__(None, None, None)
            shutil.rmtree(self.folder)

    # Trying

    def call(self, step: Callable[..., Awaitable[T]], *args: Any, **named: Any) -> T | None:
        """A step that is refused must leave the store as it was."""

        async def trying() -> T:
            return await step(*args, **named)

        before, refused = self._dump(), False
        try:
            return self.portal.call(trying)
        except StoreError:
            raise
        except SwarmError:
            refused = True
        assert not refused or self._dump() == before, "it was refused, and something changed"
        return None

    def _dump(self) -> list[str]:
        return list(self.store.writer.iterdump())

    def _task(self, pick: int) -> TaskId | None:
        return self.ids[pick % len(self.ids)] if self.ids else None

    def _claim(self, pick: int, *phases: Phase) -> Claim | None:
        fitting = [claim for claim in self.claims if claim.phase in phases]
        return fitting[pick % len(fitting)] if fitting else None

    def _know(self, *tasks: Task) -> None:
        self.ids += [task.id for task in tasks if task.id not in self.ids]

    def _took(self, claim: Claim | None) -> None:
        if claim is not None:
            self.claims.append(claim)

    # Adding

    @rule(complexity=st.sampled_from(Complexity), code=st.booleans(), tags=TAGS, auto=st.booleans())
    def add_task(
        self, complexity: Complexity, code: bool, tags: tuple[str, ...], auto: bool
    ) -> None:
        new = NewTask(title="alone", complexity=complexity, code=code, tags=tags, auto_review=auto)
        if (task := self.call(self.board.add, new)) is not None:
            self._know(task)

    @rule(pick=st.none() | PICK)
    def add_request(self, pick: int | None) -> None:
        on = self._task(pick) if pick is not None else None
        new = NewTask(title="a request", kind=Kind.REQUEST, depends_on=(on,) if on else ())
        if (task := self.call(self.board.add, new)) is not None:
            self._know(task)

    @precondition(lambda self: self.ids)
    @rule(pick=PICK, kind=SEVERAL_KINDS, on=st.none() | PICK)
    def add_child(self, pick: int, kind: Kind, on: int | None) -> None:
        depends_on = (str(self._task(on)),) if on is not None else ()
        new = NewTask(title="one more", kind=kind, depends_on=depends_on)
        if (task := self.call(self.board.add, new, parent=self._task(pick))) is not None:
            self._know(task)

    @precondition(lambda self: self.ids)
    @rule(pick=PICK)
    def promote(self, pick: int) -> None:
        self.call(self.board.promote, self._task(pick))

    # Claiming and reporting

    @rule(agent=st.sampled_from([PAT, ADA, BOB]))
    def claim_next(self, agent: Agent) -> None:
        self._took(self.call(self.board.claim_next, agent))

    @rule(agent=EXECUTORS)
    def claim_critique(self, agent: Agent) -> None:
        self._took(self.call(self.board.claim_critique, agent))

    @rule()
    def claim_close_out(self) -> None:
        self._took(self.call(self.board.claim_close_out, PAT))

    @rule()
    def claim_merge(self) -> None:
        self._took(self.call(self.board.claim_merge, MERGER))

    @precondition(lambda self: self._claim(0, Phase.PLAN))
    @rule(pick=PICK, plan=plans())
    def decompose(self, pick: int, plan: list[NewTask]) -> None:
        claim = self._claim(pick, Phase.PLAN)
        if (children := self.call(self.board.decompose, claim, plan)) is not None:
            self._know(*children)

    @precondition(lambda self: self.claims)
    @rule(pick=PICK, result=RESULTS)
    def submit(self, pick: int, result: str) -> None:
        claim = self.claims[pick % len(self.claims)]
        self.call(self.board.submit, claim, Work(result=result, quality_passed=True))

    @precondition(lambda self: self._claim(0, Phase.WORK, Phase.FIX))
    @rule(pick=PICK, draft=st.none() | RESULTS)
    def iterate(self, pick: int, draft: str | None) -> None:
        self.call(self.board.iterate, self._claim(pick, Phase.WORK, Phase.FIX), draft)

    @precondition(lambda self: self._claim(0, Phase.CLOSE_OUT, Phase.PLAN))
    @rule(pick=PICK, answer=RESULTS)
    def close_out(self, pick: int, answer: str) -> None:
        self.call(self.board.close_out, self._claim(pick, Phase.CLOSE_OUT, Phase.PLAN), answer)

    @precondition(lambda self: self.claims)
    @rule(pick=PICK, because=st.none() | st.just("it broke"))
    def let_go(self, pick: int, because: str | None) -> None:
        self.call(self.board.let_go, self.claims[pick % len(self.claims)], because)

    @precondition(lambda self: self.claims)
    @rule(pick=PICK, kind=st.sampled_from(Signal))
    def signal(self, pick: int, kind: Signal) -> None:
        self.call(self.board.signal, self.claims[pick % len(self.claims)], kind, "which one?")

    @precondition(lambda self: self.claims)
    @rule(pick=PICK)
    def fail(self, pick: int) -> None:
        self.call(self.board.fail, self.claims[pick % len(self.claims)], "no way")

    @precondition(lambda self: self._claim(0, Phase.MERGE))
    @rule(pick=PICK, outcome=st.sampled_from(["merged", "merged", "conflict", "merge_failed"]))
    def end_merge(self, pick: int, outcome: str) -> None:
        said = () if outcome == "merged" else ("both changed a line",)
        self.call(getattr(self.board, outcome), self._claim(pick, Phase.MERGE), *said)

    # Advising

    @rule()
    def receive(self) -> None:
        if (mail := self.call(self.mailbox.receive, EVE)) is not None:
            self.mail.append(mail)

    @precondition(lambda self: self.mail)
    @rule(pick=PICK, opinion=OPINIONS)
    def add_critique(self, pick: int, opinion: Advice) -> None:
        self.call(self.board.add_critique, self.mail[pick % len(self.mail)], opinion)

    @precondition(lambda self: self.mail)
    @rule(pick=PICK, counted=st.booleans())
    def give_back(self, pick: int, counted: bool) -> None:
        self.call(self.mailbox.give_back, self.mail[pick % len(self.mail)], counted=counted)

    # Deciding

    @precondition(lambda self: self.ids)
    @rule(
        pick=PICK,
        decision=st.sampled_from(DECISIONS),
    )
    def decide(self, pick: int, decision: str) -> None:
        self.call(getattr(self.board.people, decision), self._task(pick))

    @precondition(lambda self: self.ids)
    @rule(pick=PICK, hint=st.sampled_from(["normal", "next", "later"]))
    def redo(self, pick: int, hint: str) -> None:
        self.call(self.board.people.redo, self._task(pick), "say more", hint=hint)

    @precondition(lambda self: self.ids)
    @rule(pick=PICK, answer=RESULTS)
    def answer_partially_and_go_on(self, pick: int, answer: str) -> None:
        self.call(self.board.people.partial_answer, self._task(pick), answer)
        self.call(self.board.people.retry, self._task(pick), budget_raised=True)

    # Time passes, things break

    @rule(
        seconds=st.sampled_from([1.0, 30.0, 59.0, 61.0, 700.0]), crew=st.sampled_from([CREW, None])
    )
    def recover(self, seconds: float, crew: Any) -> None:
        self.clock.jump(seconds)
        self.call(recover, self.board, self.mailbox, crew)

    @precondition(lambda self: self.claims)
    @rule()
    def heartbeat(self) -> None:
        self.call(self.board.heartbeat, self.claims)

    @rule()
    def restart(self) -> None:
        self.portal.call(self.store.close)
        self._open_store()

    @precondition(lambda self: self.claims)
    @rule(pick=PICK, results=st.lists(RESULTS, min_size=2, max_size=3))
    def do_all_at_once(self, pick: int, results: list[str]) -> None:
        """Steps on one task that share a commit: at most one of them ends the claim."""
        claim = self.claims[pick % len(self.claims)]

        async def attempt(result: str, done: list[str]) -> None:
            try:
                await self.board.heartbeat([claim])
                await self.board.submit(claim, Work(result=result))
                done.append(result)
            except (ClaimLost, IllegalTransition):
                pass

        async def together() -> list[str]:
            done: list[str] = []
            async with anyio.create_task_group() as crew:
                for result in results:
                    crew.start_soon(attempt, result, done)
                crew.start_soon(self.mailbox.recover)
            return done

        assert len(self.portal.call(together)) <= 1, "one claim was handed in twice"

    @rule(pick=PICK, result=RESULTS, opinion=OPINIONS, plan=plans())
    def die_after_a_commit(
        self, pick: int, result: str, opinion: Advice, plan: list[NewTask]
    ) -> None:
        """A process that dies right after a commit leaves a whole step behind, never half a one."""
        steps: list[Callable[[], Awaitable[object]]] = []
        if self.mail:
            mail = self.mail[pick % len(self.mail)]
            steps.append(lambda: self.board.add_critique(mail, opinion))
        if self.claims:
            claim = self.claims[pick % len(self.claims)]
            steps += [
                lambda: self.board.submit(claim, Work(result=result)),
                lambda: self.board.decompose(claim, plan),
                lambda: self.board.close_out(claim, result),
            ]
        if (task_id := self._task(pick)) is not None:
            steps += [
                lambda: self.board.people.cancel(task_id),
                lambda: self.board.people.redo(task_id, "say more"),
            ]
        if steps:
            self._die_in(steps[pick % len(steps)])

    def _die_in(self, step: Callable[[], Awaitable[object]]) -> None:
        store, commit = self.store, self.store.commit

        def commit_and_die(batch: Batch) -> None:
            commit(batch)
            raise _DiedError

        async def trying() -> None:
            try:
                store.commit = commit_and_die  # type: ignore[method-assign]
                await step()
            except (_DiedError, SwarmError):
                pass
            finally:
                store.commit = commit  # type: ignore[method-assign]

        self.portal.call(trying)
        self.restart()

    @precondition(lambda self: self.claims)
    @rule(pick=PICK, result=RESULTS)
    def nothing_is_written_under_an_old_fence(self, pick: int, result: str) -> None:
        claim = self.claims[pick % len(self.claims)]
        old = claim._replace(fence=claim.fence - 1)

        work = Work(result=result)

        async def trying() -> None:
            for attempt in (
                self.board.submit(old, work),
                self.board.complete(old, work),
                self.board.close_out(old, result),
                self.board.decompose(old, [NewTask(title="late")]),
                self.board.iterate(old, result),
                self.board.signal(old, Signal.BLOCKED, "late?"),
                self.board.fail(old, "late"),
                self.board.merged(old),
                self.board.let_go(old),
            ):
                with pytest.raises(ClaimLost):
                    await attempt
            assert await self.board.heartbeat([old]) == [old]

        before = self._dump()
        self.portal.call(trying)
        assert self._dump() == before

    @precondition(lambda self: self.mail)
    @rule(pick=PICK)
    def a_mail_is_acknowledged_only_by_its_holder(self, pick: int) -> None:
        mail = self.mail[pick % len(self.mail)]

        async def trying() -> None:
            current = await self.mailbox_message(mail.number)
            if current.fence != mail.fence:
                with pytest.raises(MailLost):
                    await self.mailbox.acknowledge(mail)

        self.portal.call(trying)

    async def mailbox_message(self, number: int) -> Message:
        async with self.store.read() as reader:
            return await reader.message(number)

    @invariant()
    def the_store_keeps_its_promises(self) -> None:
        if hasattr(self, "store"):
            violations = self.portal.call(check, self.store, RULES)
            assert violations == [], "\n".join(str(violation) for violation in violations)


_QUIET = settings(
    deadline=None,
    max_examples=40,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
)
_LONG = settings(_QUIET, max_examples=400, stateful_step_count=80)

TestBoardInUse = BoardInUse.TestCase
TestBoardInUse.settings = _QUIET


class LongBoardInUse(BoardInUse):
    """The same, ten times as long."""


TestLongBoardInUse = pytest.mark.faults(LongBoardInUse.TestCase)
TestLongBoardInUse.settings = _LONG
