"""Doctor: is everything there that a crew needs? Each finding says how to mend it."""

import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import anyio
from pydantic import BaseModel, ConfigDict

from core.clock import SystemClock
from core.crew import Member, load_crew
from core.domain.limits import Limits
from core.domain.message import MailStatus
from core.domain.task import Task
from core.env_file import read_env_file
from core.errors import BadConfig, NoModel, NotTrusted, StoreError, SwarmError
from core.invariants import check
from core.llm.client import Call, Said
from core.local_models.choice import described, meant, with_crews_wish
from core.moving import standing
from core.process import surely_dead
from core.settings import FOLDER, Settings, find_project, load_settings
from core.skills import load_skills
from core.store import open_store, store_named
from core.store.protocol import Store
from core.store.sqlite import SqliteStore
from core.store.sqlite_file import translated
from core.trust import demand, is_trusted, named_in_config
from core.yaml_files import quoted

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 31, 0)
LOCK_SECONDS = 3.0
ANSWER_SECONDS = 60.0
VIOLATIONS_SHOWN = 3
AGENTS_SHOWN = 8


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing has to be mended for the crew to work."""
    MEND = "mend"
    SKIPPED = "skipped"


class Finding(BaseModel):
    model_config = ConfigDict(frozen=True)

    check: str
    level: Level
    text: str
    mend: str = ""


class _Files(NamedTuple):
    """What the project's files say; defaults where they can't be read."""

    findings: list[Finding]
    settings: Settings
    members: tuple[Member, ...]


async def examine(
    start: Path, env: Mapping[str, str], *, offline: bool = False
) -> AsyncIterator[Finding]:
    """Every check, one after the other; a failing one never ends the examination."""
    for finding in _machine():
        yield finding
    try:
        project = find_project(start)
    except BadConfig as error:
        yield Finding(check="project", level=Level.MEND, text=str(error))
        return
    yield _folder(project)
    env_file = read_env_file(project)
    env = env_file.environment(env, trusted=is_trusted(project))
    files = _files(project, env)
    for finding in files.findings:
        yield finding
    async for finding in _board(project, env, files.settings):
        yield finding
    try:
        demand(project, env_file.named(env) + named_in_config(project))
    except (NotTrusted, BadConfig) as error:
        yield Finding(check="trust", level=Level.MEND, text=str(error))
        offline = True
    env = _of_crew(files.settings.server.environment(env), files)
    yield _key(env)
    async for finding in _server(env, files, offline=offline):
        yield finding
    for finding in [] if offline else await _own_servers(env, files):
        yield finding


def _board(project: Path, env: Mapping[str, str], settings: Settings) -> AsyncIterator[Finding]:
    url = store_named(env)
    return _server_store(url, settings) if url else _store(project, settings)


def _machine() -> Iterator[Finding]:
    yield _version("Python", sys.version_info[:3], OLDEST_PYTHON, "install a newer Python")
    yield _version(
        "SQLite", sqlite3.sqlite_version_info, OLDEST_SQLITE, "use a Python with a newer SQLite"
    )


def _version(name: str, found: tuple[int, ...], oldest: tuple[int, ...], mend: str) -> Finding:
    shown, needed = (".".join(map(str, one)) for one in (found, oldest))
    if found >= oldest:
        return Finding(check=name, level=Level.OK, text=shown)
    return Finding(check=name, level=Level.MEND, text=f"{shown}, needs {needed}", mend=mend)


def _folder(project: Path) -> Finding:
    own = project / FOLDER
    place = own if own.is_dir() else project
    if os.access(place, os.W_OK | os.X_OK):
        return Finding(check="project", level=Level.OK, text=str(project))
    return Finding(
        check="project",
        level=Level.MEND,
        text=f"{place} can't be written",
        mend=f"give yourself the right to write it, like: chmod u+rwx {place}",
    )


def _files(project: Path, env: Mapping[str, str]) -> _Files:
    findings: list[Finding] = []
    settings = Settings()
    members: tuple[Member, ...] = ()
    try:
        settings = load_settings(project, env)
        findings.append(Finding(check="settings", level=Level.OK, text="can be used"))
    except BadConfig as error:
        findings.append(Finding(check="settings", level=Level.MEND, text=str(error)))
    try:
        names = ", ".join(sorted(load_skills(project)))
        findings.append(Finding(check="skills", level=Level.OK, text=names))
        small = meant(settings.server.environment(env)) is not None
        members = load_crew(project, advice=settings.review.advice, small=small)
        with_crews_wish(env, [member.model for member in members])
        text = ", ".join(one.name for one in members[:AGENTS_SHOWN])
        text += f" and {len(members) - AGENTS_SHOWN} more" if len(members) > AGENTS_SHOWN else ""
        findings.append(Finding(check="crew", level=Level.OK, text=text))
    except BadConfig as error:
        name = "crew" if findings[-1].check == "skills" else "skills"
        findings.append(Finding(check=name, level=Level.MEND, text=str(error)))
    return _Files(findings, settings, members)


async def _store(project: Path, settings: Settings) -> AsyncIterator[Finding]:
    path = project / FOLDER / "swarm.db"
    if not path.exists():
        yield Finding(check="store", level=Level.OK, text="none yet; the first request makes it")
        return
    try:
        store = await SqliteStore.open(path, lock_seconds=LOCK_SECONDS)
    except StoreError as error:
        yield Finding(check="store", level=Level.MEND, text=str(error))
        return
    try:
        yield _pages(store)
        yield await _promises(store, settings)
        yield await _letters(store)
        yield await _claims(store)
    except StoreError as error:
        yield Finding(check="store", level=Level.MEND, text=str(error))
    finally:
        await store.close()


async def _server_store(url: str, settings: Settings) -> AsyncIterator[Finding]:
    """A board elsewhere: that it opens says that server, schema and rights are as they should."""
    try:
        about = await standing(url)
        store = await open_store(url)
    except StoreError as error:
        yield Finding(check="store", level=Level.MEND, text=str(error))
        return
    try:
        text = f"opens: {about.store} ({about.engine}, schema {about.schema_version})"
        yield Finding(check="store", level=Level.OK, text=text)
        yield await _promises(store, settings)
        yield await _letters(store)
        yield await _claims(store)
    except StoreError as error:
        yield Finding(check="store", level=Level.MEND, text=str(error))
    finally:
        await store.close()


def _pages(store: SqliteStore) -> Finding:
    try:
        (said,) = store.writer.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise translated(error, store.path) from error
    if said == "ok":
        return Finding(check="store", level=Level.OK, text="opens, and its pages are sound")
    return Finding(
        check="store",
        level=Level.MEND,
        text=f"its pages are damaged ({said})",
        mend=f"restore {store.path} from a backup",
    )


async def _promises(store: Store, settings: Settings) -> Finding:
    broken = await check(store, settings.rules)
    if not broken:
        return Finding(check="board", level=Level.OK, text="keeps all its promises")
    some = "; ".join(str(one) for one in broken[:VIOLATIONS_SHOWN])
    more = f"; and {len(broken) - VIOLATIONS_SHOWN} more" if len(broken) > VIOLATIONS_SHOWN else ""
    return Finding(
        check="board",
        level=Level.MEND,
        text=f"{len(broken)} promises are broken: {some}{more}",
        mend="this is a fault of Swarm: keep a copy of the store and report it",
    )


async def _letters(store: Store) -> Finding:
    async with store.read() as reader:
        dead = await reader.messages(MailStatus.DEAD)
    if not dead:
        return Finding(check="mail", level=Level.OK, text="no dead letters")
    return Finding(
        check="mail",
        level=Level.NOTE,
        text=f"{len(dead)} dead letters; their tasks go to you",
        mend="look at them: swarm mail, then swarm status",
    )


async def _claims(store: Store) -> Finding:
    async with store.read() as reader:
        held, now = await reader.held(), reader.now
    left = [task for task in held if _left_behind(task, now)]
    if not left:
        return Finding(check="claims", level=Level.OK, text=f"{len(held)} held, none left behind")
    return Finding(
        check="claims",
        level=Level.NOTE,
        text=f"{len(left)} held by processes that are gone: {', '.join(one.id for one in left)}",
        mend="swarm work takes them back and goes on",
    )


def _left_behind(task: Task, now: float) -> bool:
    silent = task.lease_until is not None and now >= task.lease_until
    return silent or (task.holder is not None and surely_dead(task.holder))


def _of_crew(env: Mapping[str, str], files: _Files) -> Mapping[str, str]:
    try:
        return with_crews_wish(env, [member.model for member in files.members])
    except BadConfig:
        # Told as the finding of the crew.
        return env


def _key(env: Mapping[str, str]) -> Finding:
    """Whether there is one; what it is stays secret."""
    if (name := meant(env)) is not None:
        return Finding(check="key", level=Level.OK, text=f"none needed for {described(name)}")
    if env.get("OPENAI_API_KEY", "").strip():
        return Finding(check="key", level=Level.OK, text="OPENAI_API_KEY is set")
    if env.get("OPENAI_BASE_URL", "").strip():
        text = "OPENAI_API_KEY is not set; a server of your own may not need it"
        return Finding(check="key", level=Level.OK, text=text)
    return Finding(check="key", level=Level.MEND, text=str(NoModel()))


async def _server(
    env: Mapping[str, str], files: _Files, *, offline: bool
) -> AsyncIterator[Finding]:
    if offline or _key(env).level is Level.MEND:
        why = "left out" if offline else "nothing says which server"
        yield Finding(check="server", level=Level.SKIPPED, text=why)
        yield Finding(check="model", level=Level.SKIPPED, text=why)
        return
    limits = files.settings.limits.model_copy(update={"retries": 0})
    if meant(env) is not None:
        yield Finding(check="server", level=Level.OK, text="none needed: the model runs here")
        yield await _asked(env, limits)
        return
    try:
        name, listed = await _reach(env, limits)
    except SwarmError as error:
        yield Finding(check="server", level=Level.MEND, text=str(error))
        yield Finding(check="model", level=Level.SKIPPED, text="the server comes first")
        return
    yield Finding(check="server", level=Level.OK, text=f"{name} answers")
    for model in sorted(
        {one.model for one in files.members if one.model and not one.base_url} - set(listed)
    ):
        if listed:
            yield Finding(
                check="model",
                level=Level.MEND,
                text=f"the crew names the model {quoted(model)}, which the server does not list",
                mend="change it in agents.yaml",
            )
    yield await _asked(env, limits)


async def _asked(env: Mapping[str, str], limits: Limits) -> Finding:
    try:
        return await _ask(env, limits)
    except SwarmError as error:
        return Finding(check="model", level=Level.MEND, text=str(error))


async def _reach(env: Mapping[str, str], limits: Limits) -> tuple[str, list[str]]:
    """The server's name and the models it lists."""
    # Only who calls a model pays for loading its client: half a second.
    from core.models import client_from

    client = client_from(env, limits, SystemClock())
    try:
        await client.check()
        return client.server, await client.models()
    finally:
        await client.close()


async def _own_servers(env: Mapping[str, str], files: _Files) -> list[Finding]:
    """Those that agents name for themselves."""
    from core.servers import Servers

    findings = []
    for member in {one.base_url: one for one in files.members if one.base_url}.values():
        servers = Servers(env, files.settings.limits, SystemClock())
        try:
            await servers.reach([member])
            text = f"{member.base_url} of '{member.name}' answers"
            findings.append(Finding(check="server", level=Level.OK, text=text))
        except SwarmError as error:
            findings.append(Finding(check="server", level=Level.MEND, text=str(error)))
        finally:
            await servers.close()
    return findings


async def _ask(env: Mapping[str, str], limits: Limits) -> Finding:
    """One small call."""
    from core.models import server_from

    server = await server_from(env, limits, SystemClock())
    question = Said("user", "Answer with the one word: ready")
    call = Call(server.model, (question,), max_output_tokens=limits.max_output_tokens)
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            reply = await server.llm.ask(call)
    except TimeoutError:
        return Finding(
            check="model",
            level=Level.MEND,
            text=f"{quoted(server.model)} gave no answer within {ANSWER_SECONDS:.0f} s",
            mend="try another model with SWARM_MODEL",
        )
    finally:
        await server.llm.close()
    used = reply.usage.input_tokens + reply.usage.output_tokens
    cost = f" (one call, {used:,} tokens)" if used else " (one call)"
    return Finding(check="model", level=Level.OK, text=f"{quoted(server.model)} answers{cost}")
