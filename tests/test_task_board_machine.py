"""Any order of steps keeps the promises: the real board, a real store, a clock we own."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.domain.agent import Agent
from core.domain.critique import Advice, Opinion, advice
from core.domain.human_review import ReviewMode, ReviewRules
from core.domain.limits import Limits
from core.domain.message import Message
from core.domain.plan import NewTask
from core.domain.reports import Work
from core.domain.rules import Rules
from core.domain.task import Complexity, Kind, Phase, Signal, Task, TaskId
from core.errors import ClaimLost, IllegalTransition, MailLost, StoreError, SwarmError
from core.flows.recovery import recover
from core.invariants import check
from core.mailbox import Mailbox
from core.task_board import Claim, TaskBoard
from tests.support.board import ADA, BOB, CREW, EVE, MERGER, PAT
from tests.support.clock import VirtualClock
from tests.support.grounds import DiedError, Ground, PostgresGround, SqliteGround

T = TypeVar("T")

RULES = Rules(
    limits=Limits(max_iterations=4, request_tasks=12, task_timeout_minutes=10),
    review=ReviewRules(default_mode=ReviewMode.AUTO),
)
RESULTS = ("red", "green", "blue")
"""Few, so that a redo often comes to the same result."""
TAGS: tuple[tuple[str, ...], ...] = (
    *((), (), ()),
    *(("review:batch",), ("review:skip",), ("review:per-task",)),
)
OPINIONS = (
    advice(passed=True),
    advice(passed=False, suggestions=["name the source"]),
    advice(passed=False, suggestions=["name the source"]),
    advice(passed=False),
    Advice(opinion=Opinion.NEEDS_DISCUSSION),
)
DECISIONS = (
    *("approve", "approve", "close_unmerged", "reject", "revoke", "redo", "redo", "promote"),
    *("approve", "redo", "defer", "reopen", "reopen", "retry", "retry_richer"),
    *("budget", "partial_answer", "cancel"),
)
REPORTS: dict[Phase, tuple[str, ...]] = {
    Phase.PLAN: (*["decompose"] * 6, "let_go", "break", "ask", "fail"),
    Phase.WORK: (*["submit"] * 6, "iterate", "iterate", "let_go", "break", "ask", "fail"),
    Phase.FIX: (*["submit"] * 4, "iterate", "let_go", "break", "break", "ask", "fail"),
    Phase.CLOSE_OUT: (*["close_out"] * 5, "let_go", "break", "ask", "fail"),
    Phase.MERGE: (*["merged"] * 4, "conflict", "conflict", "merge_failed", "let_go", "break"),
}
"""What an agent may do with a claim of each phase, the usual more often."""
KINDS = (Kind.TASK, Kind.TASK, Kind.TASK, Kind.TASK, Kind.MILESTONE, Kind.IDEA)


class Turn(NamedTuple):
    """What an agent does when it is its turn."""

    who: Agent
    pick: int
    result: str
    opinion: Advice
    plan: list[NewTask]


def a_plan(chance: Random) -> list[NewTask]:
    """Up to three parts, each of which may depend on earlier ones."""
    plan: list[NewTask] = []
    for number in range(chance.randint(1, 3)):
        earlier = [new.key for new in plan if new.kind is not Kind.IDEA and new.key]
        plan.append(
            NewTask(
                title=f"part {number}",
                key=f"k{number}",
                kind=chance.choice(KINDS),
                code=chance.random() < 0.4,
                complexity=chance.choice(list(Complexity)),
                depends_on=tuple(chance.sample(earlier, k=chance.randint(0, len(earlier)))),
                tags=chance.choice(TAGS),
            )
        )
    return plan


def a_turn(chance: Random) -> Turn:
    return Turn(
        who=chance.choice([PAT, ADA, ADA, BOB, EVE, EVE, MERGER]),
        pick=chance.randrange(64),
        result=chance.choice(RESULTS),
        opinion=chance.choice(OPINIONS),
        plan=a_plan(chance),
    )


SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
"""Left to itself hypothesis prefers few and simple turns, and a night of work has many."""


class BoardInUse(RuleBasedStateMachine):
    """Whatever is tried, in whatever order, is done whole or refused whole."""

    make_ground: Callable[[], Ground] = SqliteGround

    @initialize()
    def open(self) -> None:
        self.ground = self.make_ground()
        self.clock = VirtualClock()
        self.portal_owner = anyio.from_thread.start_blocking_portal()
        self.portal = self.portal_owner.__enter__()
        self.nights = 0
        self.ids: list[TaskId] = []
        self.held: dict[str, Claim] = {}
        self.claims: list[Claim] = []
        self.mail: list[Message] = []
        self._open_store()

    def _open_store(self) -> None:
        self.store = self.portal.call(self.ground.open, self.clock)
        self.board = TaskBoard(self.store, RULES, chance=Random(len(self.ids)))
        self.mailbox = Mailbox(self.store, RULES.limits)

    def teardown(self) -> None:
        if hasattr(self, "portal"):
            self.portal.call(self.store.close)
            self.portal_owner.__exit__(None, None, None)
            self.ground.remove()

    # Trying

    def call(self, step: Callable[..., Awaitable[T]], *args: Any, **named: Any) -> T | None:
        """A step that is refused leaves the store as it was; any other keeps its promises."""

        async def trying() -> T:
            return await step(*args, **named)

        before = self._dump()
        try:
            done = self.portal.call(trying)
        except StoreError:
            raise
        except SwarmError:
            done = None
            changed = self._dump() != before
            assert not changed, "it was refused, and something changed"
        self._check()
        return done

    def _check(self) -> None:
        violations = self.portal.call(check, self.store, RULES)
        assert violations == [], "\n".join(str(violation) for violation in violations)

    def _dump(self) -> object:
        return self.ground.dump(self.store)

    def _task(self, pick: int) -> TaskId:
        return self.ids[pick % len(self.ids)]

    def _know(self, *tasks: Task | None) -> None:
        self.ids += [task.id for task in tasks if task is not None and task.id not in self.ids]

    # One rule: hypothesis leaves rules out at random, and a board without work shows nothing

    @rule(seed=SEEDS)
    def work_a_night(self, seed: int) -> None:
        """The crew takes its turns; people ask for more and decide; and things break."""
        self.nights += 1
        # Another night each time, also where hypothesis draws the same seed again.
        chance = Random(f"{seed} {self.nights}")
        chance.choice([self._add_tasks, self._add_request, self._add_request])(chance)
        for _ in range(25):
            self._work(a_turn(chance))
            if chance.random() < 0.2:
                self._decide(self._task(chance.randrange(64)), chance)
            if chance.random() < 0.1:
                chance.choice(self._troubles())(chance)

    def _troubles(self) -> list[Callable[[Random], None]]:
        return [
            self._add_child,
            self._let_time_pass,
            self._let_time_pass,
            self._restart,
            self._do_all_at_once,
            self._die_after_a_commit,
            self._die_after_a_commit,
            self._write_under_an_old_fence,
            self._acknowledge_what_is_not_held,
        ]

    # People ask for things

    def _add_tasks(self, chance: Random) -> None:
        for new in a_plan(chance):
            roots = [self._task(chance.randrange(64))] if self.ids and chance.random() < 0.3 else []
            alone = {"kind": Kind.TASK, "depends_on": roots, "auto_review": chance.random() < 0.2}
            fields = {**new.model_dump(), **alone}
            self._know(self.call(self.board.add, NewTask.model_validate(fields)))

    def _add_request(self, chance: Random) -> None:
        roots = (self._task(chance.randrange(64)),) if self.ids and chance.random() < 0.3 else ()
        new = NewTask(title="a request", kind=Kind.REQUEST, depends_on=roots)
        self._know(self.call(self.board.add, new))
        claim = self.call(self.board.claim_next, PAT)
        if claim is not None:
            self.claims.append(claim)
            self._know(*self.call(self.board.decompose, claim, a_plan(chance)) or ())

    def _add_child(self, chance: Random) -> None:
        on = (str(self._task(chance.randrange(64))),) if chance.random() < 0.3 else ()
        new = NewTask(title="one more", kind=chance.choice(KINDS), depends_on=on)
        parent = self._task(chance.randrange(64))
        self._know(self.call(self.board.add, new, parent=parent))

    # The crew works

    def _work(self, turn: Turn) -> None:
        if turn.who is EVE:
            self._advise(turn)
        elif turn.who.name in self.held:
            self._report(self.held.pop(turn.who.name), turn)
        else:
            self._claim(turn)

    def _claim(self, turn: Turn) -> None:
        looks = {
            PAT.name: (self.board.claim_close_out, self.board.claim_next),
            MERGER.name: (self.board.claim_merge,),
        }.get(turn.who.name, (self.board.claim_critique, self.board.claim_next))
        for look in looks:
            if (claim := self.call(look, turn.who)) is not None:
                self.held[turn.who.name] = claim
                self.claims.append(claim)
                return

    def _report(self, claim: Claim, turn: Turn) -> None:
        board, odd = self.board, turn.pick % 2 == 1
        work = Work(result=turn.result, quality_passed=turn.pick % 5 > 0)
        question = Signal.BLOCKED if odd else Signal.NEEDS_HUMAN
        steps: dict[str, Callable[[], Awaitable[object]]] = {
            "submit": lambda: board.submit(claim, work),
            "iterate": lambda: board.iterate(claim, turn.result if odd else None),
            "close_out": lambda: board.close_out(claim, turn.result),
            "let_go": lambda: board.let_go(claim),
            "break": lambda: board.let_go(claim, "it broke"),
            "ask": lambda: board.signal(claim, question, "which one?"),
            "fail": lambda: board.fail(claim, "no way"),
            "merged": lambda: board.merged(claim),
            "conflict": lambda: board.conflict(claim, "both changed a line"),
            "merge_failed": lambda: board.merge_failed(claim, "no such branch"),
        }
        report = REPORTS[claim.phase][turn.pick % len(REPORTS[claim.phase])]
        if report == "decompose":
            self._know(*self.call(board.decompose, claim, turn.plan) or ())
        else:
            self.call(steps[report])
        if report == "iterate":
            self.held[turn.who.name] = claim

    def _advise(self, turn: Turn) -> None:
        """Answer a mail, give one back, or take another; old mail is answered again at times."""
        if not self.mail or turn.pick % 2 == 0:
            if (mail := self.call(self.mailbox.receive, EVE)) is not None:
                self.mail.append(mail)
        elif turn.pick % 7 == 1:
            self.call(self.mailbox.give_back, self.mail[-1], counted=turn.pick % 2 == 0)
        else:
            mail = self.mail[-1 if turn.pick % 4 else turn.pick % len(self.mail)]
            self.call(self.board.add_critique, mail, turn.opinion)
            self.mail = self.mail[-4:]

    # People decide

    def _decide(self, task_id: TaskId, chance: Random) -> None:
        people, text = self.board.people, chance.choice(RESULTS)
        match chance.choice(DECISIONS):
            case "promote":
                self.call(self.board.promote, task_id)
            case "redo":
                hint = chance.choice(["normal", "next", "later"])
                self.call(people.redo, task_id, text, hint=hint)
            case "retry_richer":
                self.call(people.retry, task_id, budget_raised=True)
            case "partial_answer":
                self.call(people.partial_answer, task_id, text)
            case other:
                self.call(getattr(people, other), task_id)

    # Time passes, things break

    def _let_time_pass(self, chance: Random) -> None:
        crew = chance.choice([CREW, CREW, None])
        seconds = chance.choice([1.0, 30.0, 59.0, 61.0, 700.0])
        for _ in range(chance.choice([1, 1, 12])):
            self.clock.jump(seconds)
            self.call(recover, self.board, self.mailbox, crew)

    def _restart(self, _: Random) -> None:
        self.portal.call(self.store.close)
        self._open_store()

    def _do_all_at_once(self, chance: Random) -> None:
        """Steps on one task that share a commit: at most one of them ends the claim."""
        if not self.held:
            return
        claim = chance.choice(list(self.held.values()))

        async def attempt(result: str, done: list[str]) -> None:
            await self.board.heartbeat([claim])
            try:
                await self.board.submit(claim, Work(result=result))
                done.append(result)
            except (ClaimLost, IllegalTransition):
                pass

        async def together() -> list[str]:
            done: list[str] = []
            async with anyio.create_task_group() as crew:
                for result in RESULTS:
                    crew.start_soon(attempt, result, done)
                crew.start_soon(self.mailbox.recover)
            return done

        assert len(self.portal.call(together)) <= 1, "one claim was handed in twice"

    def _die_after_a_commit(self, chance: Random) -> None:
        """A process that dies right after a commit leaves whole steps behind, never half a one."""
        turn = a_turn(chance)
        task_id = self._task(turn.pick)
        steps: list[Callable[[], Awaitable[object]]] = [
            lambda: self.board.people.cancel(task_id),
            lambda: self.board.people.redo(task_id, "say more"),
        ]
        if self.mail:
            answer = self.mail[-1]
            steps = [lambda: self.board.add_critique(answer, turn.opinion), *steps]
        if self.held:
            claim = next(iter(self.held.values()))
            steps = [
                lambda: self.board.submit(claim, Work(result=turn.result)),
                lambda: self.board.decompose(claim, turn.plan),
                lambda: self.board.close_out(claim, turn.result),
                *steps,
            ]
        self._die_in(chance.choice(steps))

    def _die_in(self, step: Callable[[], Awaitable[object]]) -> None:
        async def trying() -> None:
            try:
                with self.ground.mortal(self.store):
                    await step()
            except (DiedError, SwarmError):
                pass
            finally:
                await self.store.close()

        self.portal.call(trying)
        self._open_store()
        self._check()

    def _write_under_an_old_fence(self, chance: Random) -> None:
        """Refused, whatever it is, and nothing changes."""
        if not self.claims:
            return
        claim = chance.choice([*self.held.values(), *self.claims])
        result = chance.choice(RESULTS)
        old = claim._replace(fence=claim.fence - 1)
        work = Work(result=result)

        async def trying() -> None:
            for attempt in (
                lambda: self.board.submit(old, work),
                lambda: self.board.complete(old, work),
                lambda: self.board.close_out(old, result),
                lambda: self.board.decompose(old, [NewTask(title="late")]),
                lambda: self.board.iterate(old, result),
                lambda: self.board.signal(old, Signal.BLOCKED, "late?"),
                lambda: self.board.fail(old, "late"),
                lambda: self.board.merged(old),
                lambda: self.board.let_go(old),
            ):
                with pytest.raises(ClaimLost):
                    await attempt()
            assert await self.board.heartbeat([old]) == [old]

        before = self._dump()
        self.portal.call(trying)
        assert self._dump() == before

    def _acknowledge_what_is_not_held(self, chance: Random) -> None:
        if not self.mail:
            return
        mail = chance.choice(self.mail)

        async def trying() -> None:
            async with self.store.read() as reader:
                current = await reader.message(mail.number)
            if current.fence != mail.fence:
                with pytest.raises(MailLost):
                    await self.mailbox.acknowledge(mail)

        self.portal.call(trying)

    @invariant()
    def the_store_keeps_its_promises(self) -> None:
        if hasattr(self, "store"):
            self._check()


_SHORT = settings(
    deadline=None,
    max_examples=20,
    stateful_step_count=5,
    suppress_health_check=list(HealthCheck),
)
_LONG = settings(_SHORT, max_examples=60, stateful_step_count=12)

TestBoardInUse = BoardInUse.TestCase
TestBoardInUse.settings = _SHORT


class BoardInUseOnPostgres(BoardInUse):
    """The same steps, each a transaction of its own on a server."""

    make_ground = PostgresGround


TestBoardInUseOnPostgres = BoardInUseOnPostgres.TestCase
TestBoardInUseOnPostgres.settings = settings(_SHORT, max_examples=6)


class LongBoardInUse(BoardInUse):
    """The same, many times as long."""


TestLongBoardInUse = pytest.mark.faults(LongBoardInUse.TestCase)
TestLongBoardInUse.settings = _LONG


class LongBoardInUseOnPostgres(BoardInUseOnPostgres):
    """The same, many times as long."""


TestLongBoardInUseOnPostgres = pytest.mark.faults(LongBoardInUseOnPostgres.TestCase)
TestLongBoardInUseOnPostgres.settings = _LONG
