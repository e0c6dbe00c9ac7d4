"""Builds every object from settings; Swarm, the library's face."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from core.agents.advisor import Advisor
from core.agents.asking import Voice
from core.agents.desk import Desk
from core.agents.executor import Craft, Crafts, Executor
from core.agents.paying import Till
from core.agents.planner import Planner
from core.agents.sources import Claims, Letters, Source
from core.agents.speech import Speech
from core.clock import Clock
from core.crew import CloseOut, MannerName, Member, load_crew
from core.domain.agent import Role
from core.domain.budget import NO_BUDGET, Budget
from core.domain.events import Event
from core.domain.outcome import BUDGET_SPENT, Outcome, outcome
from core.domain.plan import NewTask
from core.domain.rules import Rules
from core.domain.task import Kind, Task, TaskId
from core.env_file import read_env_file
from core.errors import EmptyRequest, PriceUnknown, StoreUnreachable
from core.llm.client import LLM, Server
from core.llm.estimates import Estimates
from core.llm.fallbacks import Fallbacks
from core.llm.manner import FULL
from core.llm.prices import Prices
from core.llm.recording import Recorded, Recording, new_recording
from core.llm.replaying import Replay
from core.llm.small_manner import SMALL
from core.local_models.choice import meant, with_crews_wish
from core.mailbox import Mailbox
from core.orchestrator import Notice, Orchestrator
from core.recorded_run import RecordedRun, recorded_run, without_servers
from core.settings import FOLDER, Settings, find_project, load_settings
from core.skills import Skill, load_skills
from core.store import open_store, store_named
from core.store.protocol import Store
from core.task_board import Roots, TaskBoard
from core.trust import demand, is_trusted, named_in_config

if TYPE_CHECKING:
    from core.servers import Servers

Own = TypeVar("Own", bound=Craft)
EVENTS_A_PAGE = 500
CLOSE_SECONDS = 1.0
EVENTS_POLL_SECONDS = 2.0
"""What other processes do rings no bell here."""


class Swarm:
    """A project's board, and the crew that works on it."""

    def __init__(
        self,
        project: Path,
        settings: Settings,
        store: Store,
        env: Mapping[str, str],
        llm: LLM | None = None,
    ) -> None:
        self.project = project
        self.settings = settings
        run = recorded_run(llm.head) if isinstance(llm, Replay) else None
        served = llm is not None
        small = not served and meant(settings.server.environment(env)) is not None
        ours = partial(load_crew, project, advice=settings.review.advice, small=small)
        self.members = run.members if run else ours()
        self._env = with_crews_wish(env, [member.model for member in self.members])
        self.embedded = None if served else meant(settings.server.environment(self._env))
        """The model of this machine the crew uses, if it uses one."""
        self.rules = _rules(settings, self.members)
        self.board = TaskBoard(store, self.rules)
        self.mailbox = Mailbox(store, self.rules.limits)
        self.store = store
        self._skills = run.skills if run else _bodies(load_skills(project))
        self._crafts = Crafts()
        self._clock: Clock = store.clock
        self._prices = Prices(settings.budget.prices)
        self._estimates = Estimates()
        self.speech = Speech()
        """What the agents of this process are writing."""
        self._llm = llm
        self._recording: Recording | None = None
        self._servers: Servers | None = None

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
        project = find_project(Path(path))
        variables = _with_env_file(project, os.environ if env is None else env)
        settings = _settings_of(llm) or load_settings(project, variables, options)
        url = store_named(variables) or f"sqlite:{made_store_file(project)}"
        board = await open_store(url, clock=clock, synchronous=settings.store.synchronous)
        try:
            swarm = cls(project, settings, board, variables, llm)
            try:
                yield swarm
            finally:
                with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                    await swarm._hang_up()
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

    async def add(
        self, text: str, *, tags: Sequence[str] = (), budget: Budget = NO_BUDGET, **fields: Any
    ) -> Task:
        """Queue a request; with kind="task" and the like, a single task."""
        if not text.strip():
            raise EmptyRequest
        title = text.strip().partition("\n")[0][:200]
        values = {"kind": Kind.REQUEST, **fields}
        new = NewTask(title=title, description=text.strip(), tags=tuple(tags), **values)
        task = await self.board.add(new)
        if budget:
            await self.board.charges.give(task.id, budget)
        return task

    async def run(
        self, text: str, *, tags: Sequence[str] = (), budget: Budget = NO_BUDGET
    ) -> Outcome:
        """Hand in a request and work until its answer is there, or until a person is needed."""
        request = await self.add(text, tags=tags, budget=budget)
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
        members = [member for member in self.members if member.role in roles]
        await self.reach_servers()
        crew = Orchestrator(self.board, self.mailbox, self.rules.limits, self._clock, notice)
        crew.stops.answer = self._partial_answers(members)
        started(crew)
        async with self.store.hearing():
            await crew.run(self._desks(members, roots), roots)

    async def reach_servers(self) -> None:
        """Every model server the crew needs, checked once."""
        if self._llm is not None or self._servers is not None:
            return
        named = named_in_config(self.project)
        if self.embedded is None:
            named += read_env_file(self.project).named(self._env)
        demand(self.project, named)
        # Only who calls a model pays for loading its client: half a second.
        from core.servers import Servers

        env = self.settings.server.environment(self._env)
        servers = Servers(env, self.rules.limits, self._clock)
        try:
            await servers.reach(self.members)
        except BaseException:
            await servers.close()
            raise
        self._servers = servers

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models its agents ask, once the servers were reached."""
        return tuple(dict.fromkeys(self._server_of(member).model for member in self.members))

    def demand_prices(self, budget: Budget = NO_BUDGET) -> None:
        """Refuse a budget in dollars where a model of the crew has no known price."""
        rules = self.rules.budget
        if self._servers is None or (budget.usd, rules.request_usd, rules.day_usd) == (None,) * 3:
            return
        for member in self.members:
            _, model, server = self._server_of(member)
            if not server:
                continue
            for name in (model, *member.fallback_models):
                if not self._prices.knows(server, name):
                    raise PriceUnknown(server, name)

    async def record(self, path: Path, text: str, tags: Sequence[str], budget: Budget) -> None:
        """Keep every exchange of this run in a new file; no key gets into it."""
        await self.reach_servers()
        models = {member.name: self._server_of(member).model for member in self.members}
        members = without_servers(self.members, models)
        run = RecordedRun(text, tuple(tags), budget, self.settings, members, self._skills)
        self._recording = new_recording(path, self._env)
        self._recording.head(run.head())

    # Looking

    async def outcome(self, task_id: TaskId) -> Outcome:
        task = await self.board.get(task_id)
        found = outcome(await self.board.family(task.root))
        if found.exit_code() != BUDGET_SPENT:
            return found
        async with self.store.read() as reader:
            partial = [one for one in await reader.answers(found.request) if one.partial]
        if not partial:
            return found
        return found.model_copy(update={"answer": partial[-1].text, "partial": True})

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

    async def _hang_up(self) -> None:
        if self._recording is not None:
            self._recording.close()
        if self._servers is not None:
            await self._servers.close()

    def _partial_answers(
        self, members: Sequence[Member]
    ) -> Callable[[Task], Awaitable[object]] | None:
        for member in members:
            if member.role is Role.PLANNER:
                return Planner(self.board, self._voice(member), self.rules).answer_partially
        return None

    def _desks(self, members: Sequence[Member], roots: Roots) -> list[Desk]:
        """One for each role, and for each server that agents of this role talk to."""
        alike: dict[tuple[Role, str], list[Member]] = {}
        for member in members:
            alike.setdefault((member.role, self._server_of(member).name), []).append(member)
        return [
            Desk([one.agent for one in some], self._source(role, some, roots), server)
            for (role, server), some in alike.items()
        ]

    def _source(self, role: Role, members: Sequence[Member], roots: Roots) -> Source:
        board, rules = self.board, self.rules
        voices = {member.name: self._voice(member) for member in members}
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

    def _server_of(self, member: Member) -> Server:
        server = self._own_server_of(member)
        if self._recording is None:
            return server
        return server._replace(llm=Recorded(server.llm, self._recording))

    def _own_server_of(self, member: Member) -> Server:
        if self._llm is not None:
            return Server(self._llm, member.model or self._env.get("SWARM_MODEL", "") or "scripted")
        assert self._servers is not None, "the servers were reached"
        llm, model, name = self._servers.of(member)
        if member.fallback_models or member.timeout_seconds is not None:
            llm = Fallbacks(llm, member.fallback_models, member.timeout_seconds)
        return Server(llm, model, name)

    def _voice(self, member: Member) -> Voice:
        limits = self.rules.limits
        llm, model, server = self._server_of(member)
        return Voice(
            agent=member.name,
            llm=llm,
            model=model,
            speech=self.speech,
            till=Till(self.board.charges, self._prices, self._estimates, server),
            skills="\n\n".join(self._skills[name].strip() for name in member.skills),
            temperature=member.temperature,
            max_output_tokens=member.max_output_tokens or limits.max_output_tokens,
            context_tokens=member.context_tokens
            or self._prices.context_tokens(server, model)
            or limits.context_tokens,
            manner=SMALL if member.manner is MannerName.SMALL else FULL,
            merges=member.close_out is CloseOut.MERGE,
        )


def _rules(settings: Settings, members: Sequence[Member]) -> Rules:
    """Where nobody advises, no advice is asked for."""
    advised = any(member.role is Role.ADVISOR for member in members)
    if advised:
        return settings.rules
    review = settings.review.model_copy(update={"advice": False})
    return settings.rules.model_copy(update={"review": review})


def _settings_of(llm: LLM | None) -> Settings | None:
    """Those of the run that is played again, if this replays one."""
    return recorded_run(llm.head).settings if isinstance(llm, Replay) else None


def _bodies(skills: Mapping[str, Skill]) -> dict[str, str]:
    return {name: skill.body for name, skill in skills.items()}


def _with_env_file(project: Path, env: Mapping[str, str]) -> Mapping[str, str]:
    file = read_env_file(project)
    return file.environment(env, trusted=is_trusted(project)) if file.lines else env


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
