"""The project's .env: what of it counts, and what of it waits until the project is trusted."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from core.addresses import KEY_VARIABLE
from core.yaml_files import read_text, shown

FILE = ".env"
HARMLESS = "SWARM_LIMITS__"
"""All that the file of a stranger may set."""

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?""")
_ESCAPED = re.compile(r"\\(.)")


class EnvFile(NamedTuple):
    path: Path
    lines: Mapping[str, tuple[int, str]]
    """Line and value of each variable."""

    def environment(self, env: Mapping[str, str], *, trusted: bool) -> dict[str, str]:
        """The environment with what the file may add to it; what is there already is stronger."""
        ours = {
            name: value
            for name, (_, value) in self.lines.items()
            if name.startswith(HARMLESS) or (trusted and _is_ours(name))
        }
        return {**ours, **env}

    def named(self, env: Mapping[str, str] | None = None) -> list[str]:
        """Where it names a server, a key or a setting; values stay secret.

        With an environment only what is not said there as well, and would change something.
        """
        return [
            f"{shown(self.path)}:{line}: {name}"
            for name, (line, _) in self.lines.items()
            if _is_ours(name)
            and not name.startswith(HARMLESS)
            and (env is None or (name not in env and not _is_a_foreign_key(name)))
        ]


def read_env_file(project: Path) -> EnvFile:
    path = project / FILE
    if not path.is_file():
        return EnvFile(path, {})
    return EnvFile(path, dict(_variables(read_text(path))))


def _variables(text: str) -> Iterator[tuple[str, tuple[int, str]]]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line)
        if found is not None:
            yield found[1], (number, _value(found[2]))


def _value(written: str) -> str:
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return written.partition(" #")[0].strip()
    return _ESCAPED.sub(r"\1", quoted[1]) if quoted[1] is not None else quoted[2]


def _is_ours(name: str) -> bool:
    return (
        name.startswith(("SWARM_", "OPENAI_BASE_URL")) or KEY_VARIABLE.fullmatch(name) is not None
    )


def _is_a_foreign_key(name: str) -> bool:
    """Of another program, as far as we know; whoever names it as an agent's key is asked then."""
    return KEY_VARIABLE.fullmatch(name) is not None and name != "OPENAI_API_KEY"
