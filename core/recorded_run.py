"""RecordedRun: what a recording needs beside the exchanges to be the same run again."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from core.crew import Member
from core.domain.budget import NO_BUDGET, Budget
from core.domain.task import AgentName
from core.errors import BadConfig
from core.settings import ServerSettings, Settings
from core.version import __version__


class RecordedRun(NamedTuple):
    request: str
    tags: tuple[str, ...]
    budget: Budget
    settings: Settings
    members: tuple[Member, ...]
    """With the models they really asked, and without their servers."""
    skills: Mapping[str, str]
    version: str = __version__

    def head(self) -> dict[str, Any]:
        settings = self.settings.model_copy(update={"server": ServerSettings()})
        return {
            "version": self.version,
            "request": self.request,
            "tags": self.tags,
            "budget": list(self.budget),
            "settings": settings.model_dump(mode="json"),
            "members": [one.model_dump(mode="json", exclude_defaults=True) for one in self.members],
            "skills": dict(self.skills),
        }


def recorded_run(head: Mapping[str, Any]) -> RecordedRun:
    try:
        return RecordedRun(
            str(head["request"]),
            tuple(map(str, head["tags"])),
            Budget(*head["budget"]) if head["budget"] else NO_BUDGET,
            Settings.model_validate(head["settings"]),
            tuple(Member.model_validate(one) for one in head["members"]),
            {str(name): str(body) for name, body in head["skills"].items()},
            str(head["version"]),
        )
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise BadConfig("the recording does not say how its crew was set up") from error


def without_servers(
    members: Sequence[Member], models: Mapping[AgentName, str]
) -> tuple[Member, ...]:
    none = {"base_url": None, "key_variable": None, "fallback_models": (), "timeout_seconds": None}
    return tuple(
        one.model_copy(update={**none, "model": models.get(one.name, one.model)}) for one in members
    )
