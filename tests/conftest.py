"""What every test leaves behind for the next one: nothing."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def boards_on_postgres() -> Iterator[None]:
    """Boards are emptied after the test that used them; most tests use none and load nothing."""
    yield
    if (boards := sys.modules.get("tests.support.postgres_boards")) is not None:
        boards.give_back_boards()
