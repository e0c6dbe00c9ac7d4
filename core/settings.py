"""Settings: how Swarm runs, from options, the environment, the project and our defaults."""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from core.addresses import Address, KeyVariable
from core.domain.budget import BudgetRules
from core.domain.human_review import ReviewRules
from core.domain.limits import Limits
from core.domain.rules import Rules
from core.errors import BadConfig
from core.layers import checked, leaf, over, refuse_servers
from core.shipped import shipped
from core.yaml_files import Node, plain, quoted, read_yaml, shown, whole_text

FOLDER = ".swarm"
FILE = "settings.yaml"

_PREFIX, _BETWEEN = "SWARM_", "__"
_MAX_LEVELS = 8
_REMARKS = {"limits": "limits can be raised, none can be unset"}
# Each first limit has to stay below its second, or the second one can never work.
_IN_ORDER = (
    ("heartbeat_seconds", "lease_seconds"),
    ("critique_own_seconds", "critique_forced_seconds"),
)


class StoreSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL",
        description="FULL survives a power cut; NORMAL is faster and may lose the last steps.",
    )


class ServerSettings(BaseModel):
    """The environment is stronger; agents.yaml may name others for single agents."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: Address | None = Field(default=None, description="Address of the model server.")
    key_variable: KeyVariable | None = Field(
        default=None, description="The environment variable with its key."
    )
    model: str | None = Field(default=None, description="The model of agents that name none.")

    @field_validator("model")
    @classmethod
    def _no_file(cls, model: str | None) -> str | None:
        """What is loaded into this process is the user's choice, never a project's."""
        if model is not None and model.endswith(".gguf"):
            raise ValueError(f"{quoted(model)} is a file; name it with --model or SWARM_MODEL")
        return model

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment, where it names no server with this one."""
        full = dict(env)
        if self.base_url is not None and not env.get("OPENAI_BASE_URL", "").strip():
            # The key of another server is never sent to this one.
            full["OPENAI_BASE_URL"] = self.base_url
            full["OPENAI_API_KEY"] = env.get(self.key_variable or "", "")
        if self.model is not None and not env.get("SWARM_MODEL", "").strip():
            full["SWARM_MODEL"] = self.model
        return full


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits = Limits()
    server: ServerSettings = ServerSettings()
    budget: BudgetRules = BudgetRules()
    review: ReviewRules = ReviewRules()
    store: StoreSettings = StoreSettings()

    @property
    def rules(self) -> Rules:
        return Rules(limits=self.limits, review=self.review, budget=self.budget)


def find_project(start: Path) -> Path:
    """The nearest folder upwards that holds a .swarm folder, else the start itself."""
    here = start.resolve()
    if not here.is_dir():
        raise BadConfig(f"{shown(here)}: there is no such folder; make it, or name another")
    for folder in (here, *here.parents):
        if (folder / FOLDER).is_dir():
            return folder
        if (folder / FOLDER).exists():
            raise BadConfig(
                f"{shown(folder / FOLDER)}: this is a file, and Swarm keeps a folder of this "
                "name; rename or remove it"
            )
    return here


def load_settings(
    project: Path, env: Mapping[str, str], options: Mapping[str, Any] | None = None
) -> Settings:
    """The strongest source wins: options, environment, the project's file, our defaults.

    Options are named by dotted keys; one that is None was not given.
    """
    layers = [read_yaml(shipped("config") / FILE)]
    if (project / FOLDER / FILE).exists():
        layers.append(_project_file(project / FOLDER / FILE))
    layers += _from_environment(env)
    layers += _from_options(options or {})
    tree = reduce(lambda weak, strong: over(strong, weak), layers)
    settings = checked(Settings, tree, _REMARKS)
    _check_order(tree, settings.limits)
    return settings


def _project_file(path: Path) -> Node:
    node = read_yaml(path)
    refuse_servers(node, but="server")
    if "server" in node.children:
        refuse_servers(node.children["server"])
    return node


def _from_environment(env: Mapping[str, str]) -> list[Node]:
    """SWARM_LIMITS__MAX_CYCLES=4; a name without two underscores is no setting."""
    return [
        leaf(
            name.removeprefix(_PREFIX).lower().split(_BETWEEN, _MAX_LEVELS),
            plain(whole_text(name, text.strip())),
            name,
        )
        for name, text in env.items()
        if name.startswith(_PREFIX) and _BETWEEN in name
    ]


def _from_options(options: Mapping[str, Any]) -> list[Node]:
    return [
        leaf(name.split("."), value, f"option {name}")
        for name, value in options.items()
        if value is not None
    ]


def _check_order(tree: Node, limits: Limits) -> None:
    for lower, higher in _IN_ORDER:
        low, high = getattr(limits, lower), getattr(limits, higher)
        if low >= high:
            nodes = tree.children["limits"].children
            raise BadConfig(
                f"{nodes[lower].at}: '{lower}' is {low:g} and should be less than "
                f"'{higher}', which is {high:g} ({nodes[higher].at})"
            )
