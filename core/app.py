"""Builds every object from settings; Swarm, the library's face."""

import os
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from core.agents.advisor import Advisor
from core.agents.asking import Voice
from core.agents.desk import Desk
from core.agents.executor import Craft, Crafts, Executor
from core.agents.planner import Planner
from core.agents.sources import Claims, Letters, Source
from core.clock import Clock
from core.crew import Member, load_crew
from core.domain.agent import Role
from core.domain.events import Event
from core.domain.outcome import Outcome, outcome
from core.domain.plan import NewTask
from core.domain.rules import Rules
from core.domain.task import Kind, Task, TaskId
from core.errors import EmptyRequest, StoreUnreachable
from core.llm.client import LLM, Server
from core.mailbox import Mailbox
from core.orchestrator import Notice, Orchestrator
from core.settings import FOLDER, Settings, find_project, load_settings
from core.skills import Skill, load_skills
from core.store import open_store, store_named
from core.store.protocol import Store
from core.task_board import Roots, TaskBoard

Own = TypeVar("Own", bound=Craft)
EVENTS_A_PAGE = 500
EVENTS_POLL_SECONDS = 2.0
"""What other processes do rings no bell here."""


class Swarm:
    """A project's board, and the crew that works on it."""

    def __init__(
        self, project: Path, settings: Settings, store: Store, env: Mapping[str, str]
    ) -> None:
        self.project = project
        self.settings = settings
        self.members = load_crew(project, advice=settings.review.advice)
        self.rules = _rules(settings, self.members)
        self.board = TaskBoard(store, self.rules)
        self.mailbox = Mailbox(store, self.rules.limits)
        self.store = store
        self._env = env
        self._skills: dict[str, Skill] = load_skills(project)
        self._crafts = Crafts()
        self._clock: Clock = store.clock
        self._llm: LLM | None = None
        self._server: Server | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: str | Path = ".",
        *,
        llm: LLM | None = None,
        options: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator["Swarm"]:
        """Open the board of the project in or above this folder; made where there is none.

        SWARM_STORE in `env` is the address of a board that is not in this folder, like
        postgresql://user@host/database.
        Without an `llm` the model server comes from the environment, when it is first needed.
        """
        variables = os.environ if env is None else env
        project = find_project(Path(path))
        settings = load_settings(project, variables, options)
        url = store_named(variables) or f"sqlite:{made_store_file(project)}"
        board = await open_store(url, clock=clock, synchronous=settings.store.synchronous)
        try:
            swarm = cls(project, settings, board, variables)
            swarm._llm = llm
            yield swarm
            if swarm._server is not None:
                await swarm._server.llm.close()
        finally:
            await board.close()

    # Asking for work

    def executor(self, *, tags: Sequence[str] = ()) -> Callable[[Own], Own]:
        """Put your own async function behind the executors: for tasks with these tags, or all."""

        def register(craft: Own) -> Own:
            if not tags:
                self._crafts.any_task = craft
            self._crafts.by_tag.update(dict.fromkeys(tags, craft))
            return craft

        return register

    async def add(self, text: str, *, tags: Sequence[str] = (), **fields: Any) -> Task:
        """Queue a request; with kind="task" and the like, a single task."""
        if not text.strip():
            raise EmptyRequest
        title = text.strip().partition("\n")[0][:200]
        values = {"kind": Kind.REQUEST, **fields}
        new = NewTask(title=title, description=text.strip(), tags=tuple(tags), **values)
        return await self.board.add(new)

    async def run(self, text: str, *, tags: Sequence[str] = ()) -> Outcome:
        """Hand in a request and work until its answer is there, or until a person is needed."""
        request = await self.add(text, tags=tags)
        await self.work(await self.with_dependencies(request))
        return await self.outcome(request.id)

    async def with_dependencies(self, root: Task) -> frozenset[TaskId]:
        """A root and every root it depends on."""
        found = {root.id}
        left = list(root.depends_on)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += (await self.board.get(name)).depends_on
        return frozenset(found)

    async def work(
        self,
        roots: Roots = None,
        *,
        notice: Notice = lambda text: None,
        started: Callable[[Orchestrator], object] = lambda crew: None,
        roles: Container[Role] = frozenset(Role),
    ) -> None:
        """Let the crew, or those in these roles, work until nothing is left without a person."""
        server = await self.server()
        crew = Orchestrator(self.board, self.mailbox, self.rules.limits, self._clock, notice)
        started(crew)
        async with self.store.hearing():
            await crew.run(self._desks(server, roots, roles), roots)

    async def server(self) -> Server:
        """The model server, checked once."""
        if self._server is None:
            if self._llm is not None:
                self._server = Server(self._llm, self._env.get("SWARM_MODEL", "") or "scripted")
            else:
                # Only who calls a model pays for loading its client: half a second.
                from core.models import server_from

                self._server = await server_from(self._env, self.rules.limits, self._clock)
        return self._server

    # Looking

    async def outcome(self, task_id: TaskId) -> Outcome:
        task = await self.board.get(task_id)
        return outcome(await self.board.family(task.root))

    async def last_event(self) -> int:
        """The number of the newest event: what comes after it is new."""
        async with self.store.read() as reader:
            return await reader.last_event()

    async def events(
        self, after: int = 0, *, request: TaskId | None = None, follow: bool = False
    ) -> AsyncIterator[Event]:
        """What happened, in order; with `follow` also what happens from now on."""
        ear = self.board.listen_for_events()
        while True:
            page = await self.board.events(after, EVENTS_A_PAGE)
            for event in page:
                after = event.seq
                if request is None or event.request == request:
                    yield event
            if not page:
                if not follow:
                    return
                await ear.wait(EVENTS_POLL_SECONDS)

    def _desks(self, server: Server, roots: Roots, roles: Container[Role]) -> list[Desk]:
        """One for each of these roles."""
        return [
            Desk([one.agent for one in members], self._source(role, members, server, roots))
            for role in Role
            if role in roles and (members := [one for one in self.members if one.role is role])
        ]

    def _source(
        self, role: Role, members: Sequence[Member], server: Server, roots: Roots
    ) -> Source:
        board, rules = self.board, self.rules
        voices = {member.name: self._voice(member, server) for member in members}
        match role:
            case Role.PLANNER:
                planners = {name: Planner(board, voice, rules) for name, voice in voices.items()}
                return Claims(board, {name: one.work for name, one in planners.items()}, roots)
            case Role.EXECUTOR:
                executors = {
                    name: Executor(board, voice, rules, self._crafts)
                    for name, voice in voices.items()
                }
                return Claims(board, {name: one.work for name, one in executors.items()}, roots)
            case Role.ADVISOR:
                advisors = {name: Advisor(board, voice, rules) for name, voice in voices.items()}
                return Letters(board, self.mailbox, advisors, roots)

    def _voice(self, member: Member, server: Server) -> Voice:
        limits = self.rules.limits
        return Voice(
            agent=member.name,
            llm=server.llm,
            model=member.model or server.model,
            skills="\n\n".join(self._skills[name].body.strip() for name in member.skills),
            temperature=member.temperature,
            max_output_tokens=member.max_output_tokens or limits.max_output_tokens,
            context_tokens=member.context_tokens or limits.context_tokens,
        )


def _rules(settings: Settings, members: Sequence[Member]) -> Rules:
    """Where nobody advises, no advice is asked for."""
    advised = any(member.role is Role.ADVISOR for member in members)
    if advised:
        return settings.rules
    review = settings.review.model_copy(update={"advice": False})
    return settings.rules.model_copy(update={"review": review})


def store_file(project: Path) -> Path:
    return project / FOLDER / "swarm.db"


def made_store_file(project: Path) -> Path:
    folder = project / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        if not folder.is_dir():
            raise StoreUnreachable(str(folder), error.strerror or str(error)) from error
    return store_file(project)
