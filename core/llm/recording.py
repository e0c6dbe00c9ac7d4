"""Recording: every exchange with a model as a line of a file, without any key."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from core.errors import BadConfig, ModelError
from core.llm.client import LLM, Call, Reply

VERSION = 1
_SECRET_NAME = re.compile(
    r"(.*_)?(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)", re.IGNORECASE
)
_KEY = re.compile(r"\bsk-[\w-]{8,}")
_PASSWORD = re.compile(r"(\w+://[^\s/:@\"]*:)[^\s/@\"]+@")
SHORTEST_SECRET = 8
"""A shorter one would be found in the middle of ordinary words."""


def secrets_in(env: Mapping[str, str]) -> list[str]:
    """Values of variables that sound like a secret; the longest first."""
    found = {value.strip() for name, value in env.items() if _SECRET_NAME.fullmatch(name)}
    return sorted((one for one in found if len(one) >= SHORTEST_SECRET), key=len, reverse=True)


class Recording:
    """A file that is written line by line, so that a killed run leaves what it had."""

    def __init__(self, file: TextIO, secrets: Iterable[str]) -> None:
        self._file = file
        self._secrets = tuple(secrets)

    def head(self, run: Mapping[str, Any]) -> None:
        self._write({"swarm_recording": VERSION, **run})

    def exchange(self, call: Call, reply: Reply | None, error: ModelError | None) -> None:
        said: dict[str, Any] = {
            "model": call.model,
            "schema": call.schema.__name__ if call.schema is not None else None,
            "messages": [list(message) for message in call.messages],
        }
        if reply is not None:
            usage = reply.usage.model_dump(exclude_defaults=True)
            said["reply"] = {"text": reply.text, "model": reply.model, "usage": usage}
        if error is not None:
            said["error"] = {
                "type": type(error).__name__,
                "why": str(getattr(error, "why", error)),
            }
        self._write(said)

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(self._clean(line)) + "\n")
        self._file.flush()

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, "[key]")
            return _PASSWORD.sub(r"\1[key]@", _KEY.sub("[key]", value))
        if isinstance(value, Mapping):
            return {self._clean(key): self._clean(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(inner) for inner in value]
        return value


def new_recording(path: Path, env: Mapping[str, str]) -> Recording:
    """In a new file, without what this environment says in secret."""
    try:
        return Recording(path.open("x", encoding="utf-8"), secrets_in(env))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadConfig(f"{path}: can't be written ({why}); name a new file") from error


class Recorded:
    """A model whose every exchange is kept."""

    def __init__(self, llm: LLM, recording: Recording) -> None:
        self._llm = llm
        self._recording = recording

    async def ask(self, call: Call) -> Reply:
        try:
            reply = await self._llm.ask(call)
        except ModelError as error:
            self._recording.exchange(call, None, error)
            raise
        self._recording.exchange(call, reply, None)
        return reply

    async def close(self) -> None:
        await self._llm.close()
