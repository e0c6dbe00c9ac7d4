"""Workers: how an agent of each role finds its next piece of work."""

from collections.abc import Awaitable, Callable

from core.agents.advisor import Advisor
from core.agents.executor import Executor
from core.agents.hands import hold_claim, hold_mail
from core.agents.loop import Job
from core.agents.planner import Planner
from core.agents.report import Report
from core.bell import Ear
from core.domain.agent import Agent
from core.domain.message import Message, MessageKind
from core.domain.task import CLOSE_OUT
from core.mailbox import Mailbox
from core.task_board import Claim, Roots, TaskBoard


class PlannerWorker:
    def __init__(self, agent: Agent, planner: Planner, board: TaskBoard, roots: Roots) -> None:
        self.name = agent.name
        self._agent, self._planner, self._board, self._roots = agent, planner, board, roots

    def listen(self) -> Ear:
        return self._board.listen(self._agent)

    async def find(self) -> Job | None:
        """Answers before plans: what is nearly done comes first."""
        claim = await self._board.claim_close_out(self._agent, roots=self._roots)
        claim = claim or await self._board.claim_next(self._agent, roots=self._roots)
        if claim is None:
            return None
        do = self._planner.close_out if claim.phase is CLOSE_OUT else self._planner.plan
        return _claimed(self._board, claim, do)


class ExecutorWorker:
    def __init__(self, agent: Agent, executor: Executor, board: TaskBoard, roots: Roots) -> None:
        self.name = agent.name
        self._agent, self._executor, self._board, self._roots = agent, executor, board, roots

    def listen(self) -> Ear:
        return self._board.listen(self._agent)

    async def find(self) -> Job | None:
        """A critique to fix always comes before new work."""
        claim = await self._board.claim_critique(self._agent, roots=self._roots)
        claim = claim or await self._board.claim_next(self._agent, roots=self._roots)
        return None if claim is None else _claimed(self._board, claim, self._executor.work)


class AdvisorWorker:
    def __init__(
        self, agent: Agent, advisor: Advisor, mailbox: Mailbox, board: TaskBoard, roots: Roots
    ) -> None:
        self.name = agent.name
        self._agent, self._advisor, self._roots = agent, advisor, roots
        self._mailbox, self._board = mailbox, board

    def listen(self) -> Ear:
        return self._mailbox.listen(self._agent)

    async def find(self) -> Job | None:
        mail = await self._mailbox.receive(self._agent, roots=self._roots)
        while mail is not None and mail.kind is not MessageKind.CRITIQUE_REQUEST:
            # A note asks for nothing: reading it is all there is to do.
            await self._mailbox.acknowledge(mail)
            mail = await self._mailbox.receive(self._agent, roots=self._roots)
        return None if mail is None else self._job(mail)

    def _job(self, mail: Message) -> Job:
        async def let_go(because: str | None) -> None:
            if because is not None and mail.task is not None:
                await self._board.replies.discard(mail.task, "advice")
            await self._mailbox.give_back(mail, counted=because is not None)

        return Job(hold_mail(mail), lambda: self._advisor.advise(mail), let_go)


def _claimed(board: TaskBoard, claim: Claim, do: Callable[[Claim], Awaitable[Report]]) -> Job:
    async def let_go(because: str | None) -> None:
        if because is not None:
            await board.replies.discard(claim.task_id, claim.phase.value)
        await board.let_go(claim, because)

    return Job(hold_claim(claim), lambda: do(claim), let_go)
