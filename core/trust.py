"""Trust: what a project's files name takes effect only after a person said so, for these files.

Remembered in the user's own config folder, by the project's real path and a hash of the files.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path

from core.env_file import FILE as ENV_FILE
from core.errors import BadConfig, NotTrusted
from core.yaml_files import Node, read_yaml, shown

FILES = (ENV_FILE, ".swarm/settings.yaml", ".swarm/agents.yaml")
REMEMBERED_IN = "trusted.json"
SERVER_KEYS = ("base_url", "key_variable")


def is_trusted(project: Path) -> bool:
    return _remembered().get(_name(project)) == _hash_of_files(project)


def trust(project: Path) -> None:
    _remember({**_remembered(), _name(project): _hash_of_files(project)})


def distrust(project: Path) -> bool:
    """Whether there was any trust to take back."""
    known = _remembered()
    was_there = known.pop(_name(project), None) is not None
    if was_there:
        _remember(known)
    return was_there


def named_in_config(project: Path) -> list[str]:
    """Each place in the project's own config that names a server or a key's variable."""
    found: list[str] = []
    for file in FILES[1:]:
        path = project / file
        if path.exists():
            found += _servers(read_yaml(path))
    return found


def demand(project: Path, named: list[str]) -> None:
    """Refuse to go on where the project names something that nobody has allowed."""
    if named and not is_trusted(project):
        raise NotTrusted(named)


def _servers(node: Node) -> list[str]:
    found = []
    for key, child in node.children.items():
        if key in SERVER_KEYS and child.value is not None:
            found.append(f"{child.at}: {key} {_printable(child.value)}")
        found += _servers(child)
    return found


def _printable(value: object) -> str:
    text = "".join(letter for letter in str(value) if letter.isprintable())
    return text if len(text) <= 100 else f"{text[:100]}…"


def _name(project: Path) -> str:
    return str(project.resolve())


def _hash_of_files(project: Path) -> str:
    """Of every file, also of one that is not there: a new one is not trusted either."""
    total = hashlib.sha256()
    for file in FILES:
        path = project / file
        content = path.read_bytes() if path.is_file() else b""
        total.update(f"{file} {len(content)}\n".encode() + content)
    return total.hexdigest()


def _file() -> Path:
    return user_config_path("swarm", appauthor=False) / REMEMBERED_IN


def _remembered() -> dict[str, str]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(found) if isinstance(found, Mapping) else {}


def _remember(trusted: Mapping[str, str]) -> None:
    """In one piece, and readable for its owner only."""
    path = _file()
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(trusted, indent=1), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadConfig(f"{shown(path)}: can't be written ({why}); check its rights") from error
