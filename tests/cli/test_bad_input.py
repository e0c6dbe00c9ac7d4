"""Bad input: for each kind the exit code, one sentence on stderr, and nothing lost."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.domain.task import Complexity
from tests.support.board import House
from tests.support.database import everything_in
from tests.support.here import Here
from tests.support.openai_server import Answer, OpenAIServer, refused
from tests.support.rights import give_up_overrides
from tests.support.stories import finish
from tests.support.terminal import COMMAND, Command, model_server

SETTINGS, AGENTS = ".swarm/settings.yaml", ".swarm/agents.yaml"
IMPATIENT = (
    sys.executable,
    "-c",
    "from core.store.sqlite import SqliteStore as S; from core.cli import main; "
    "S.open.__func__.__kwdefaults__['lock_seconds'] = 0.3; main()",
)
"""The command with a short wait for locks, for which there is no setting."""


@dataclass(frozen=True)
class Bad:
    """Words in which {done} and {shared} stand for an id and for the beginning of two."""

    words: tuple[str, ...]
    code: int
    says: str
    files: dict[str, str | bytes] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)


def setting(text: str, says: str) -> Bad:
    return Bad(("status",), 3, says, {SETTINGS: text})


TABLE = {
    "an unknown flag": Bad(("run", "--turbo", "x"), 2, "--turbo"),
    "an unknown flag beside a request": Bad(("status", "--nope"), 2, "--nope"),
    "an unknown command": Bad(("jump",), 2, "jump"),
    "no id": Bad(("show",), 2, "TASK"),
    "no key": Bad(("run", "x"), 3, "OPENAI_API_KEY"),
    "a bad address": Bad(("run", "x"), 3, "OPENAI_BASE_URL", env={"OPENAI_BASE_URL": "nowhere"}),
    "bad YAML": setting("limits: [1", "settings.yaml:"),
    "YAML that is no mapping": setting("- 1", "settings.yaml:1:1"),
    "a duplicate key": setting("limits:\n  attempts: 1\n  attempts: 2\n", "settings.yaml:3:3"),
    "an unknown key": setting("limits:\n  max_cycle: 1\n", "'max_cycles'"),
    "a limit unset": setting("limits:\n  attempts: null\n", "settings.yaml:2:13"),
    "a negative limit": setting("limits:\n  attempts: -1\n", "settings.yaml:2:13"),
    "a bad limit in the environment": Bad(
        ("status",), 3, "SWARM_LIMITS__ATTEMPTS", env={"SWARM_LIMITS__ATTEMPTS": "many"}
    ),
    "a crew with an unknown role": Bad(
        ("agents",), 3, "agents.yaml:1:20", {AGENTS: "agents: {a: {role: plumber}}"}
    ),
    # A root's id is given when it is added, so a cycle of roots can only be asked for like this.
    "a dependency on what is not there": Bad(("add", "--depends-on", "zzzz", "x"), 4, "zzzz"),
    "an unknown id": Bad(("show", "zzzz"), 4, "'zzzz'"),
    "an id of another alphabet": Bad(("cancel", "%"), 4, "'%'"),
    "an ambiguous id": Bad(("show", "{shared}"), 4, "type more of the id"),
    "an illegal step": Bad(("cancel", "{done}"), 1, "completed"),
    "an illegal step among legal ones": Bad(("approve", "{open}", "{done}"), 1, "not possible"),
    "an empty request": Bad(("run", "  "), 2, "empty"),
    "a request over 256 KiB": Bad(
        ("add", "-f", "long.txt"), 2, "limits.request_bytes", {"long.txt": "x" * (256 * 1024 + 1)}
    ),
    "a binary file": Bad(("add", "-f", "a.bin"), 2, "binary", {"a.bin": b"\x00\x01"}),
    "a file that is not UTF-8": Bad(("add", "-f", "a.txt"), 2, "UTF-8", {"a.txt": b"\xff\xfe"}),
    "a folder for a file": Bad(("add", "-f", ".swarm"), 2, "folder"),
    "a file that is not there": Bad(("add", "-f", "none.txt"), 2, "none.txt"),
    "a project that is not there": Bad(("status", "-C", "none"), 3, "none"),
    "an empty message": Bad(("redo", "{done}", "-m", ""), 2, "-m"),
}


@dataclass(frozen=True)
class Board:
    project: Path
    ids: dict[str, str]


async def _fill(house: House) -> dict[str, str]:
    """Enough tasks that two ids begin alike."""
    done = await finish(house, await house.add(complexity=Complexity.SIMPLE))
    ids = [(await house.add(f"task {number}")).id for number in range(40)]
    first = [one[0] for one in ids]
    shared = next(letter for letter in first if first.count(letter) > 1)
    return {"done": done.id, "open": ids[0], "shared": shared}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Board:
    project = tmp_path_factory.mktemp("filled")
    return Board(project, Here(project).arranged(_fill))


@pytest.fixture
def board(filled: Board, tmp_path: Path) -> Board:
    """Each test spoils its own copy."""
    return Board(shutil.copytree(filled.project, tmp_path / "project"), filled.ids)


def is_one_sentence(text: str) -> bool:
    return text.startswith("swarm: ") and text.count("\n") == 1 and text.endswith("\n")


@pytest.mark.parametrize("name", TABLE)
def test_bad_input_is_one_sentence_and_loses_nothing(name: str, board: Board) -> None:
    bad, swarm = TABLE[name], Command(board.project)
    for path, content in bad.files.items():
        data = content.encode() if isinstance(content, str) else content
        (board.project / path).write_bytes(data)
    swarm.env |= bad.env
    before = everything_in(board.project / ".swarm")

    done = swarm(*(word.format(**board.ids) for word in bad.words))

    assert (done.returncode, done.stdout) == (bad.code, ""), done.stderr
    assert is_one_sentence(done.stderr), done.stderr
    assert bad.says in done.stderr
    assert everything_in(board.project / ".swarm") == before


def wrong_key(server: OpenAIServer) -> None:
    server.models = refused(401, "Incorrect API key provided: sk-12345")


def unknown_model(server: OpenAIServer) -> None:
    server.brain = lambda _: refused(404, "The model does not exist", code="model_not_found")


@pytest.mark.parametrize(
    ("trouble", "says"), [(wrong_key, "key"), (unknown_model, "The model does not exist")]
)
def test_a_server_that_refuses_is_one_sentence(
    board: Board, trouble: Callable[[OpenAIServer], None], says: str
) -> None:
    before = everything_in(board.project / ".swarm")
    with model_server(lambda _: Answer("never said")) as server:
        trouble(server)
        swarm = Command(board.project, server)
        swarm.env["OPENAI_API_KEY"] = "sk-12345"

        done = swarm("run", "-q", "x")

    assert done.returncode == 3, done.stderr
    assert is_one_sentence(done.stderr.splitlines(keepends=True)[-1]), done.stderr
    assert says in done.stderr
    assert "sk-12345" not in done.stderr
    assert [row for row in before if row not in everything_in(board.project / ".swarm")] == []


def test_an_unreachable_server_is_told_within_ten_seconds(board: Board) -> None:
    before = everything_in(board.project / ".swarm")
    swarm = Command(board.project)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        swarm.env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        started = time.monotonic()

        done = swarm("run", "-q", "x")

    assert time.monotonic() - started < 10
    assert done.returncode == 3, done.stderr
    assert is_one_sentence(done.stderr.splitlines(keepends=True)[-1]), done.stderr
    assert [row for row in before if row not in everything_in(board.project / ".swarm")] == []


def store_of(board: Board) -> Path:
    return board.project / ".swarm" / "swarm.db"


def test_a_corrupt_store_is_left_as_it_is(board: Board) -> None:
    store_of(board).write_bytes(b"no database at all " * 200)

    done = Command(board.project)("status")

    assert done.returncode == 3
    assert is_one_sentence(done.stderr), done.stderr
    assert store_of(board).read_bytes() == b"no database at all " * 200


def test_a_newer_store_is_left_to_a_newer_swarm(board: Board) -> None:
    with closing(sqlite3.connect(store_of(board))) as db:
        db.execute("PRAGMA user_version = 999")
    before = everything_in(board.project / ".swarm")

    done = Command(board.project)("cancel", board.ids["open"])

    assert done.returncode == 3
    assert is_one_sentence(done.stderr)
    assert "update Swarm" in done.stderr
    assert everything_in(board.project / ".swarm") == before


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def test_a_locked_store_is_told_and_can_be_looked_at(board: Board) -> None:
    before = everything_in(board.project / ".swarm")
    swarm = Command(board.project)
    with locked(store_of(board)):
        done = subprocess.run(
            [*IMPATIENT, "cancel", board.ids["open"]],
            cwd=board.project,
            env=swarm.env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        looked = swarm("status")

    assert done.returncode == 3, done.stderr
    assert is_one_sentence(done.stderr), done.stderr
    assert "locked" in done.stderr
    assert looked.returncode == 0
    assert everything_in(board.project / ".swarm") == before


def test_a_folder_that_can_only_be_read_is_told(board: Board) -> None:
    folder = board.project / ".swarm"
    before = everything_in(folder)
    folder.chmod(0o500)
    store_of(board).chmod(0o400)
    try:
        done = subprocess.run(
            [*COMMAND, "cancel", board.ids["open"]],
            cwd=board.project,
            env=Command(board.project).env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            preexec_fn=give_up_overrides,
        )
    finally:
        folder.chmod(0o700)
        store_of(board).chmod(0o600)

    assert done.returncode == 3
    assert is_one_sentence(done.stderr), done.stderr
    assert everything_in(folder) == before


@pytest.mark.parametrize("words", [("status",), ("init",), ("run", "x"), ("show", "a")])
def test_a_file_called_swarm_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / ".swarm").write_text("mine")

    done = Command(tmp_path)(*words)

    assert done.returncode == 3
    assert is_one_sentence(done.stderr), done.stderr
    assert (tmp_path / ".swarm").read_text() == "mine"


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("doctor", "--offline")])
def test_a_closed_pipe_is_no_failure(board: Board, words: tuple[str, ...]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        env = {**Command(board.project).env, "OPENAI_API_KEY": "sk-1"}
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=board.project,
            env=env,
            stdout=write_end,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    finally:
        os.close(write_end)

    assert (done.returncode, done.stderr) == (0, "")
