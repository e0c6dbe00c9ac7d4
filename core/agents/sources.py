"""Sources: where the agents of each role find what to do next."""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from typing import Protocol

from core.agents.advisor import Advisor
from core.agents.hands import hold_claim, hold_mail
from core.agents.job import Job
from core.agents.report import Report
from core.bell import Watch
from core.domain.agent import Agent
from core.domain.message import Message, MessageKind
from core.domain.task import AgentName, Task
from core.mailbox import Letter, Mailbox
from core.task_board import Claim, Roots, TaskBoard

Tell = Callable[[AgentName | None], object]
Way = Callable[[Claim], Awaitable[Report]]
"""How one agent does what it claimed."""


class Source(Protocol):
    def watch(self, agents: Sequence[Agent], tell: Tell) -> Watch:
        """Inside this, name who may find something now; None stands for any of them."""
        ...

    async def called(self, agents: Sequence[Agent]) -> Iterable[AgentName]:
        """For whom there is something that may be for them alone."""
        ...

    async def find(self, agents: Sequence[Agent], called: Container[AgentName]) -> list[Job]:
        """At most one piece of work for each; some of it may be only for who is called."""
        ...


class Claims:
    """What planners and executors do stands on the board."""

    def __init__(self, board: TaskBoard, ways: Mapping[AgentName, Way], roots: Roots) -> None:
        self._board, self._ways, self._roots = board, ways, roots

    def watch(self, agents: Sequence[Agent], tell: Tell) -> Watch:
        return self._board.when_work_comes(agents, tell)

    async def called(self, agents: Sequence[Agent]) -> Iterable[AgentName]:
        return await self._board.claiming.called(agents)

    async def find(self, agents: Sequence[Agent], called: Container[AgentName]) -> list[Job]:
        claims = await self._board.claiming.claim_for(agents, called, roots=self._roots)
        return [self._job(claim) for claim in claims]

    def _job(self, claim: Claim) -> Job:
        agent = claim.task.agent
        assert agent is not None, "a claim is somebody's"

        async def let_go(because: str | None) -> None:
            if because is not None:
                await self._board.replies.discard(claim.task_id, claim.phase.value)
            await self._board.let_go(claim, because)

        return Job(agent, hold_claim(claim), lambda: self._ways[agent](claim), let_go)


class Letters:
    """What advisors are asked comes as mail."""

    def __init__(
        self,
        board: TaskBoard,
        mailbox: Mailbox,
        advisors: Mapping[AgentName, Advisor],
        roots: Roots,
    ) -> None:
        self._board, self._mailbox, self._roots = board, mailbox, roots
        self._advisors = advisors

    def watch(self, agents: Sequence[Agent], tell: Tell) -> Watch:
        return self._mailbox.when_mail_comes(agents, tell)

    async def called(self, agents: Sequence[Agent]) -> Iterable[AgentName]:
        return await self._mailbox.called(agents)

    async def find(self, agents: Sequence[Agent], called: Container[AgentName]) -> list[Job]:
        letters = await self._mailbox.receive_for(agents, called, roots=self._roots)
        return [self._job(letter) for letter in letters]

    def _job(self, letter: Letter) -> Job:
        mail, task = letter
        agent = mail.agent
        assert agent is not None, "a mail that was taken is somebody's"

        async def let_go(because: str | None) -> None:
            if because is not None and mail.task is not None:
                await self._board.replies.discard(mail.task, "advice")
            await self._mailbox.give_back(mail, counted=because is not None)

        return Job(agent, hold_mail(mail), lambda: self._read(agent, mail, task), let_go)

    async def _read(self, agent: AgentName, mail: Message, task: Task | None) -> Report:
        if mail.kind is not MessageKind.CRITIQUE_REQUEST or task is None:
            # A note asks for nothing: reading it is all there is to do.
            return lambda: self._mailbox.acknowledge(mail)
        return await self._advisors[agent].advise(mail, task)
