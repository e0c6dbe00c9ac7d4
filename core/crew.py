"""The crew: who works here, read from agents.yaml."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from core.addresses import Address, KeyVariable
from core.domain.agent import Agent, Crew, Role, unadvised
from core.domain.task import AgentName
from core.errors import BadConfig
from core.layers import checked, nearest, refuse_servers, server_words
from core.shipped import shipped
from core.skills import load_skills
from core.yaml_files import Node, quoted, read_yaml

FILE = "agents.yaml"
SMALL_FILE = "agents-small.yaml"
"""The crew for a model on this machine, where a project has none of its own."""
MAX_MEMBERS = 2500

_SIMPLE_WORD = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class MannerName(StrEnum):
    """How an agent talks to its model."""

    FULL = "full"
    SMALL = "small"


class CloseOut(StrEnum):
    """How one answer is made of several results."""

    MERGE = "merge"
    SECTIONS = "sections"


class Member(BaseModel):
    """None means: what the model or the limits say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: AgentName
    role: Role
    model: str | None = None
    skills: tuple[str, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    context_tokens: int | None = None
    manner: MannerName = MannerName.FULL
    close_out: CloseOut = CloseOut.MERGE
    timeout_seconds: float | None = None
    base_url: str | None = None
    """A server of its own; the key of another one is never sent there."""
    key_variable: str | None = None
    fallback_models: tuple[str, ...] = ()
    """Asked in turn where the model fails."""

    @property
    def agent(self) -> Agent:
        return Agent(name=self.name, roles=frozenset({self.role}))


class _Entry(BaseModel):
    """One name of the file, which may stand for several members."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    role: Role
    count: int = Field(default=1, ge=1, le=1000)
    model: str | None = None
    skills: tuple[str, ...] = ()
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_output_tokens: int | None = Field(default=None, ge=1)
    context_tokens: int | None = Field(default=None, ge=512)
    manner: MannerName = MannerName.FULL
    close_out: CloseOut = CloseOut.MERGE
    timeout_seconds: float | None = Field(default=None, gt=0)
    base_url: Address | None = None
    key_variable: KeyVariable | None = None
    fallback_models: tuple[str, ...] = ()


class _CrewFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: dict[str, _Entry]
    advice: bool = True


def crew_file(project: Path, *, small: bool = False) -> Path:
    """The project's own, else ours: the one for small models where such a model is used."""
    own = project / ".swarm" / FILE
    return own if own.exists() else shipped("config") / (SMALL_FILE if small else FILE)


def load_crew(project: Path, *, advice: bool = True, small: bool = False) -> tuple[Member, ...]:
    """The project's crew, or ours where it has none; without advice it has no advisors."""
    root = read_yaml(crew_file(project, small=small))
    refuse_servers(root)
    entries = root.children["agents"].children if "agents" in root.children else {}
    for entry in entries.values():
        refuse_servers(entry)
    file = checked(_CrewFile, root)
    known = sorted(load_skills(project))
    for name, node in entries.items():
        _check_entry(name, node, known)
    members = _members(file.agents, entries)
    _check_roles(members, root.children["agents"].key_at)
    if not (advice and file.advice):
        return tuple(member for member in members if member.role is not Role.ADVISOR)
    _check_advice(members, entries)
    return members


def _check_entry(name: str, node: Node, known_skills: list[str]) -> None:
    if not _SIMPLE_WORD.fullmatch(name):
        raise BadConfig(
            f"{node.key_at}: the name {quoted(name)} is not a simple word; "
            "use a-z, 0-9, '-' and '_', at most 40 of them"
        )
    parts = node.children
    for model in _models(parts):
        if "://" in str(model.value):
            raise BadConfig(f"{model.at}: {server_words(str(model.value))}")
    if "key_variable" in parts and "base_url" not in parts:
        raise BadConfig(
            f"{parts['key_variable'].key_at}: 'key_variable' belongs to a server; add its base_url"
        )
    if "base_url" in parts and "model" not in parts:
        raise BadConfig(f"{parts['base_url'].key_at}: a server of its own needs a 'model'; add it")
    skills = parts["skills"].value if "skills" in parts else []
    for skill in skills if isinstance(skills, list) else []:
        if skill.value not in known_skills:
            word = str(skill.value)
            hint = nearest(word, known_skills)
            raise BadConfig(f"{skill.at}: the skill {quoted(word)} is unknown; {hint}")


def _models(parts: Mapping[str, Node]) -> list[Node]:
    others = parts["fallback_models"].value if "fallback_models" in parts else []
    first = [parts["model"]] if "model" in parts else []
    return first + (others if isinstance(others, list) else [])


def _members(agents: Mapping[str, _Entry], nodes: Mapping[str, Node]) -> tuple[Member, ...]:
    members: dict[AgentName, Member] = {}
    for name, entry in agents.items():
        for member in _copies(name, entry):
            if member.name in members:
                raise BadConfig(
                    f"{nodes[name].key_at}: two agents would be called '{member.name}'; "
                    "rename one of them"
                )
            members[member.name] = member
            if len(members) > MAX_MEMBERS:
                raise BadConfig(
                    f"{nodes[name].key_at}: the crew has more than {MAX_MEMBERS:,} agents; "
                    "lower a count"
                )
    return tuple(members.values())


def _copies(name: str, entry: _Entry) -> Iterator[Member]:
    shared = entry.model_dump(exclude={"count"})
    for number in range(1, entry.count + 1):
        own_name = name if entry.count == 1 else f"{name}-{number}"
        yield Member(name=AgentName(own_name), **shared)


def _check_roles(members: tuple[Member, ...], at: str) -> None:
    for role in (Role.PLANNER, Role.EXECUTOR):
        if all(member.role is not role for member in members):
            raise BadConfig(
                f"{at}: the crew has no {role.value}; add one, like '{role.value}: "
                f"{{role: {role.value}}}'"
            )


def _check_advice(members: tuple[Member, ...], nodes: Mapping[str, Node]) -> None:
    alone = unadvised(Crew(agents=tuple(member.agent for member in members)))
    if alone:
        name = next(name for name in nodes if alone[0] in (name, f"{name}-1"))
        raise BadConfig(
            f"{nodes[name].key_at}: nobody may advise on the work of '{alone[0]}'; "
            "add an advisor, or say 'advice: off'"
        )
