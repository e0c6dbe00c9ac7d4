"""What the boards of tests stand on: a file, or a database of a throw-away PostgreSQL."""

from pathlib import Path

from core.clock import Clock
from core.store import open_store
from core.store.protocol import Store

SQLITE, POSTGRES = "sqlite", "postgres-18"
ENGINES = (SQLITE, POSTGRES)
chosen = SQLITE
"""Set by the tests that are told on every engine."""


def address_in(folder: Path) -> str:
    """The address of the board that belongs to this folder."""
    if chosen == SQLITE:
        return f"sqlite:{folder / 'swarm.db'}"
    # Only who asks for a server starts one.
    from tests.support.postgres_boards import board_for

    return board_for(folder)


def named_store(folder: Path) -> dict[str, str]:
    """What the environment says of the board of a project; nothing where its own file is meant."""
    return {} if chosen == SQLITE else {"SWARM_STORE": address_in(folder)}


async def open_board(folder: Path, clock: Clock | None = None) -> Store:
    return await open_store(address_in(folder), clock=clock)
