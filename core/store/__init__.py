"""Remembering: stores know how to keep rows and nothing of what they mean."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from core.errors import StoreUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.clock import Clock
    from core.store.protocol import Store

_SQLITE, _POSTGRES = "sqlite:", ("postgresql://", "postgres://")


async def open_store(
    url: str, *, clock: "Clock | None" = None, synchronous: str = "FULL"
) -> "Store":
    """Open what an address names: sqlite:FILE or postgresql://user@host/database.

    A file is made where there is none; on a server, `swarm store init` makes the board.
    """
    if url.startswith(_POSTGRES):
        # Only who uses a server pays for its driver, which is an extra.
        try:
            from core.store.postgres import PostgresStore
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("psycopg"):
                raise
            why = "its driver is missing; install it with: pip install 'swarm-crew[postgres]'"
            raise StoreUnreachable("postgresql:…", why) from error
        return await PostgresStore.open(url, clock=clock)
    from core.store.sqlite import SqliteStore
    from core.store.sqlite_file import Synchronous

    path = sqlite_path(url)
    return await SqliteStore.open(path, clock=clock, synchronous=Synchronous(synchronous))


def store_named(env: "Mapping[str, str]") -> str | None:
    """The board's address from a user's environment; a project never says where to connect to."""
    return env.get("SWARM_STORE", "").strip() or None


def is_postgres(url: str) -> bool:
    return url.startswith(_POSTGRES)


def sqlite_path(url: str) -> Path:
    """The file of sqlite:FILE, sqlite:///FILE and the like."""
    if not url.startswith(_SQLITE) or len(url) == len(_SQLITE):
        # What it is may hold a password, so it is not shown.
        why = "it begins with neither sqlite: nor postgresql://"
        raise StoreUnreachable("with this address", why)
    place = url.removeprefix(_SQLITE)
    return Path(unquote(place.removeprefix("//"))) if place.startswith("//") else Path(place)
