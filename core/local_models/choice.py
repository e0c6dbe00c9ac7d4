"""Choice: which model of this machine the crew uses, where it uses one."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from core.errors import BadConfig, NotOnThisMachine
from core.layers import nearest
from core.local_models.catalogue import CATALOGUE, Listed
from core.local_models.shelf import Shelf
from core.yaml_files import quoted

EMBEDDED, ENDING = "embedded", ".gguf"
_SERVERS = ("OPENAI_API_KEY", "OPENAI_BASE_URL")


class Chosen(NamedTuple):
    name: str
    file: Path
    listed: Listed | None
    """None for a file of the user's own."""


def meant(env: Mapping[str, str]) -> str | None:
    """Its name, or a file's path; None where the crew talks to a server, or where nothing is.

    One that is named counts first, then a server, then a model that is here.
    """
    named = env.get("SWARM_MODEL", "").strip()
    kind, _, name = named.partition(":")
    if kind == EMBEDDED and name:
        return name
    if named.endswith(ENDING):
        return named
    if kind != EMBEDDED and any(env.get(variable, "").strip() for variable in _SERVERS):
        return None
    if named in CATALOGUE:
        return named
    here = Shelf.of_user(env).here() if named in ("", EMBEDDED) else []
    return here[0].name if here else None


def with_crews_wish(env: Mapping[str, str], models: Iterable[str | None]) -> Mapping[str, str]:
    """The environment of a crew whose agents name a model of this machine: one for all of them."""
    named = {model for model in models if model is not None}
    wished = {model for model in named if model.partition(":")[0] == EMBEDDED}
    if not wished:
        return env
    if len(named) > 1:
        raise BadConfig(
            f"the crew names the models {', '.join(sorted(named))}; one model of this machine "
            "serves a whole crew, so name that one and no other"
        )
    (model,) = wished
    if model.endswith(ENDING):
        raise BadConfig(
            f"the crew names the file {quoted(model)}; a file is named with --model or "
            "SWARM_MODEL only, so that no project chooses what is loaded"
        )
    return {**env, "SWARM_MODEL": model}


def described(name: str) -> str:
    """In the words shown before work begins."""
    listed = CATALOGUE.get(name)
    if listed is None:
        return f"{Path(name).name} (on your CPU: facts may be wrong)"
    return f"{name} ({listed.caution})"


def chosen(name: str, env: Mapping[str, str]) -> Chosen:
    """The one that is meant, with every byte checked; raises with a sentence."""
    if name.endswith(ENDING):
        return Chosen(Path(name).stem, Path(name).expanduser(), None)
    listed = CATALOGUE.get(name)
    if listed is None:
        hint = nearest(name, [*CATALOGUE])
        raise NotOnThisMachine(f"no model {quoted(name)} is known for this machine; {hint}")
    shelf = Shelf.of_user(env)
    if not shelf.has(listed):
        raise NotOnThisMachine(
            f"the model {name} is not on this machine; get it with: swarm models pull {name}"
        )
    return Chosen(name, shelf.ready(listed), listed)
