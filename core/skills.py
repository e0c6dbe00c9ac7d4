"""Skills: prose that tells a model how to work, read from markdown files with a short head."""

from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from core.errors import BadConfig
from core.layers import checked
from core.shipped import shipped
from core.yaml_files import parse_yaml, quoted, read_text, shown

MAX_SKILLS = 200

_FENCE = "---"


class Skill(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    body: str


class _Head(BaseModel):
    """What the Agent Skills form allows at the top of a file; only the first two are used."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    metadata: dict[str, str] | None = None
    allowed_tools: str | None = Field(default=None, alias="allowed-tools")


class _Parts(NamedTuple):
    head: str
    body: str
    body_line: int


def load_skills(project: Path) -> dict[str, Skill]:
    """By name; a skill of the project replaces ours of the same name."""
    folders = (shipped("skills"), project / ".swarm" / "skills")
    return {skill.name: skill for folder in folders for skill in _skills_of(folder)}


def _skills_of(folder: Path) -> list[Skill]:
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise BadConfig(f"{shown(folder)}: this is a file, and a folder of skills is needed")
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except OSError as error:
        raise BadConfig(f"{shown(folder)}: the folder can't be read; check its rights") from error
    if len(files) > MAX_SKILLS:
        raise BadConfig(f"{shown(folder)}: more than {MAX_SKILLS} skills; remove some")
    return [read_skill(path) for path in files]


def read_skill(path: Path) -> Skill:
    name = shown(path)
    parts = _parted(read_text(path), name)
    node = parse_yaml(parts.head, name, lines_before=1)
    head = checked(_Head, node)
    if head.name != path.stem:
        at = node.children["name"].at
        raise BadConfig(f"{at}: 'name' should be {quoted(path.stem)}, as the file is called")
    if not head.description.strip():
        at = node.children["description"].at
        raise BadConfig(f"{at}: 'description' is empty; say in a sentence what the skill is for")
    if not parts.body:
        raise BadConfig(f"{name}:{parts.body_line}:1: the skill says nothing; write it here")
    return Skill(name=head.name, description=head.description.strip(), body=parts.body)


def _parted(text: str, name: str) -> _Parts:
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        raise BadConfig(
            f"{name}:1:1: a skill begins with a line '---', then name and description, then '---'"
        )
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            body = "\n".join(lines[number + 1 :]).strip()
            return _Parts("\n".join(lines[1:number]), body, number + 2)
    raise BadConfig(f"{name}:1:1: the line '---' that ends the skill's head is missing; add it")
