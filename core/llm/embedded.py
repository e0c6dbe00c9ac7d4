"""A model on this machine: its server in this process, spoken to like any other server.

Its port is on the loopback, known to nobody and closed to whoever has not its random key.
"""

import gc
import os
import secrets
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
from openai import DefaultAsyncHttpxClient

from core.clock import Clock
from core.domain.limits import Limits
from core.errors import NotOnThisMachine
from core.llm.client import Call, Reply
from core.llm.openai_client import OpenAIClient

SLOTS = 3
"""Calls it works on side by side; each has the whole context for itself."""
CONTEXT_TOKENS = 4096
"""Of one call."""
LOAD_SECONDS = 300.0
BATCH_TOKENS = 64
"""Of a prompt in one go: nothing stops it in between, and a stop has to be quick."""
SILENCE_SECONDS = 600.0
"""A busy machine may read long prompts for minutes before the first word."""
MAGIC = b"GGUF"
_WAY_ON = "pip install 'swarm-crew[local]'"


class Embedded:
    """One model, loaded once and freed by `close`."""

    def __init__(self, client: OpenAIClient, server: Any, key: str) -> None:
        self.key = key
        """For other clients of the same server."""
        self.seconds = 0.0
        """What loading took."""
        self.memory_bytes = 0
        self._client = client
        self._server = server

    @property
    def url(self) -> str:
        return self._client.server

    async def ask(self, call: Call) -> Reply:
        return await self._client.ask(call)

    async def close(self) -> None:
        await self._client.close()
        server, self._server = [self._server], None
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_free, server)


async def load(
    file: Path, context_tokens: int, limits: Limits, clock: Clock, seed: int | None = None
) -> Embedded:
    """Off the event loop; raises with a sentence when it can't be loaded."""
    _check_magic(file)
    key = secrets.token_hex(32)
    start = partial(_start, str(file), context_tokens, key, seed)
    began, before = time.monotonic(), _memory_bytes()
    with anyio.fail_after(LOAD_SECONDS):
        server = await anyio.to_thread.run_sync(start, abandon_on_cancel=True)
    patient = max(limits.silence_seconds, SILENCE_SECONDS)
    patience = {"first_token_seconds": patient, "silence_seconds": patient}
    own = limits.model_copy(update={"max_parallel": SLOTS, **patience})
    # Now and then it hangs up on a connection that is used again; a new one costs nothing.
    once = httpx2.Limits(max_keepalive_connections=0)
    http = DefaultAsyncHttpxClient(trust_env=False, limits=once)
    client = OpenAIClient(f"{server.listening_address}/v1", key, own, clock, http)
    model = Embedded(client, server, key)
    model.seconds = time.monotonic() - began
    model.memory_bytes = max(_memory_bytes() - before, 0)
    return model


def _start(file: str, context_tokens: int, key: str, seed: int | None) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise NotOnThisMachine(
            "a model on this machine needs the extra 'local', which is not installed "
            f"(or there is none for this platform): {_WAY_ON}"
        ) from error
    try:
        return xllamacpp.Server(_wishes(xllamacpp, file, context_tokens, key, seed))
    except (RuntimeError, ValueError) as error:
        raise NotOnThisMachine(f"the model {file} can't be loaded ({error})") from error


def _wishes(library: Any, file: str, context_tokens: int, key: str, seed: int | None) -> Any:
    wishes = library.CommonParams()
    wishes.model.path = file
    wishes.model_alias = {Path(file).stem}
    wishes.hostnames = ["127.0.0.1"]
    wishes.port = 0
    wishes.api_keys = [key]
    wishes.n_parallel = SLOTS
    wishes.n_ctx = SLOTS * context_tokens
    wishes.n_batch = wishes.n_ubatch = BATCH_TOKENS
    wishes.cpuparams.n_threads = wishes.cpuparams_batch.n_threads = _idle_cores()
    wishes.verbosity = 0
    wishes.warmup = wishes.ui = wishes.endpoint_slots = False
    wishes.cache_ram_mib = 0
    # Small models fall into loops; this makes each longer repetition less likely.
    wishes.sampling.dry_multiplier = 0.6
    wishes.sampling.dry_allowed_length = 4
    if seed is not None:
        wishes.sampling.seed = seed
    return wishes


def _idle_cores() -> int:
    """Its threads wait for each other at every step, so one on a busy core holds up all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = os.getloadavg()[0]
    return max(1, round((cores or 1) - busy))


def _free(last: list[Any]) -> None:
    """The server ends with the last reference to it."""
    last.clear()
    gc.collect()


def _check_magic(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            begins = opened.read(len(MAGIC))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise NotOnThisMachine(f"the model {file} can't be read: {why}") from error
    if begins != MAGIC:
        raise NotOnThisMachine(f"{file} is no GGUF file, the form a model on this machine has")


def _memory_bytes() -> int:
    """What this process has in memory now; 0 where that can't be seen."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
