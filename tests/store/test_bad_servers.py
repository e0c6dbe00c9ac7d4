"""Servers and databases that can't be used: one sentence each, and no password in any of them."""

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg import sql

from core.errors import (
    StoreError,
    StoreForeign,
    StoreNotMade,
    StoreReadOnly,
    StoreTooNew,
    StoreTooOld,
    StoreUnreachable,
    StoreUnsupported,
)
from core.store import open_store
from core.store.postgres_address import PostgresAddress
from tests.support.here import Here
from tests.support.postgres_boards import behind, board_for, database_for, server
from tests.support.postgres_server import GUARDED, PASSWORD
from tests.support.samples import a_task, put_on

SECRET = "not-this-one"


async def refused(url: str) -> StoreError:
    with pytest.raises(StoreError) as refusal:
        await (await open_store(url)).close()
    is_one_sentence(str(refusal.value))
    return refusal.value


def is_one_sentence(text: str) -> None:
    assert "\n" not in text
    assert SECRET not in text
    assert PASSWORD not in text
    assert len(text) < 250


async def test_where_no_server_answers(tmp_path: Path) -> None:
    by_socket = await refused(f"postgresql://me:{SECRET}@/board?host={tmp_path}")
    by_port = await refused(f"postgresql://me:{SECRET}@127.0.0.1:{_closed_port()}/board")

    assert isinstance(by_socket, StoreUnreachable)
    assert isinstance(by_port, StoreUnreachable)
    assert "no server answers there" in str(by_socket)
    assert "no server answers there" in str(by_port)
    assert "postgresql://me@127.0.0.1" in str(by_port)


def _closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def test_a_wrong_password_and_none_at_all(tmp_path: Path) -> None:
    url = board_for(tmp_path).replace("user=swarm", f"user={GUARDED}")

    wrong = await refused(f"{url}&password={SECRET}")
    none = await refused(url)

    assert "the password is wrong" in str(wrong)
    assert "it wants a password" in str(none)


async def test_a_password_comes_from_the_address_the_environment_or_a_passfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = board_for(tmp_path).replace("user=swarm", f"user={GUARDED}")
    with behind(tmp_path) as other:
        other.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {GUARDED}".encode())
    passfile = tmp_path / "passfile"
    passfile.write_text(f"*:*:*:{GUARDED}:{PASSWORD}\n")
    passfile.chmod(0o600)

    await (await open_store(f"{url}&password={PASSWORD}")).close()
    await (await open_store(f"{url}&passfile={passfile}")).close()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    await (await open_store(url)).close()


async def test_an_unknown_database_and_an_unknown_user(tmp_path: Path) -> None:
    database = await refused(server(18).url("nowhere", password=SECRET))
    user = await refused(server(18).url("postgres", user="nobody-here", password=SECRET))

    assert "there is no database 'nowhere'" in str(database)
    assert "there is no such user" in str(user)


async def test_a_user_without_rights(tmp_path: Path) -> None:
    board_for(tmp_path)
    url = f"{board_for(tmp_path).replace('user=swarm', f'user={GUARDED}')}&password={PASSWORD}"
    name = sql.Identifier(database_for(tmp_path))
    with behind(tmp_path) as other:
        other.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {GUARDED}".encode())
        no_table = await refused(url)
        other.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(name))
        no_connection = await refused(url)
        other.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO PUBLIC").format(name))

    assert isinstance(no_table, StoreReadOnly)
    assert "this user has no right to connect" in str(no_connection)


async def test_a_database_without_a_board_and_one_of_another_application(tmp_path: Path) -> None:
    name = server(18).new_database()
    empty = await refused(server(18).url(name))
    with server(18).connect(name) as other:
        other.execute("CREATE TABLE songs (title text)")

    foreign = await refused(server(18).url(name))

    assert isinstance(empty, StoreNotMade)
    assert "swarm store init" in str(empty)
    assert isinstance(foreign, StoreForeign)
    server(18).drop_database(name)


async def test_a_newer_and_an_older_schema(tmp_path: Path) -> None:
    with behind(tmp_path) as other:
        found = other.execute("SELECT schema FROM swarm_store").fetchone()
        assert found is not None
        other.execute("UPDATE swarm_store SET schema = 900")
        newer = await refused(board_for(tmp_path))
        other.execute("UPDATE swarm_store SET schema = -1")
        older = await refused(board_for(tmp_path))
        other.execute("UPDATE swarm_store SET schema = %s", found)

    assert isinstance(newer, StoreTooNew)
    assert isinstance(older, StoreTooOld)
    assert "swarm store migrate" in str(older)


async def test_a_server_of_an_unsupported_version_and_which_are_supported() -> None:
    with pretended_server("15.3") as port:
        old = await refused(f"postgresql://me:{SECRET}@127.0.0.1:{port}/board")

    assert isinstance(old, StoreUnsupported)
    assert "PostgreSQL 15" in str(old)
    assert "PostgreSQL 16 or newer" in str(old)


@contextmanager
def pretended_server(version: str) -> Iterator[int]:
    """Lets anybody in and says that it is of this version, as the protocol has it."""

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack("!i", len(body) + 4) + body

    def serve() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            with one:
                while struct.unpack("!i", one.recv(65536)[4:8])[0] != 3 << 16:
                    one.sendall(b"N")  # no encryption here
                names = {"server_version": version, "client_encoding": "UTF8"}
                said = b"".join(
                    message(b"S", f"{name}\0{value}\0".encode()) for name, value in names.items()
                )
                one.sendall(message(b"R", struct.pack("!i", 0)) + said + message(b"Z", b"I"))
                one.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=10)


ADDRESSES = (
    f"postgresql://me:{SECRET}@[half/board",
    f"postgresql://me:{SECRET}@host/board?nonsense={SECRET}",
    f"mysql://me:{SECRET}@host/board",
    f"me:{SECRET}",
    "sqlite:",
    "",
)


@pytest.mark.parametrize("url", ADDRESSES)
async def test_an_address_that_makes_no_sense(url: str) -> None:
    await refused(url)


async def test_an_error_in_the_middle_of_a_step_says_nothing_of_the_values(tmp_path: Path) -> None:
    store = await open_store(board_for(tmp_path))
    await put_on(store, a_task("t"))

    with pytest.raises(StoreError) as refusal:
        await put_on(store, a_task("t", description=SECRET))
    with pytest.raises(StoreError) as other:
        await put_on(store, a_task("u", description=SECRET, attempts=2**40))

    is_one_sentence(str(refusal.value))
    is_one_sentence(str(other.value))
    await store.close()


def test_the_address_is_shown_without_its_password() -> None:
    address = PostgresAddress(f"postgresql://me:{SECRET}@host:5433/board?sslpassword={SECRET}")

    assert address.shown == "postgresql://me@host:5433/board"


COMMANDS = (["status"], ["add", "x"], ["store", "status"], ["work"], ["cancel", "x"])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_says_one_sentence_and_exits_with_3(tmp_path: Path, words: list[str]) -> None:
    swarm = Here(tmp_path)

    done = swarm(*words, "--store", f"postgresql://me:{SECRET}@/board?host={tmp_path}")

    assert done.code == 3
    assert done.out == ""
    assert re.fullmatch(r"swarm: can't open the store .*no server answers there.*\n", done.err)
    assert SECRET not in done.err
