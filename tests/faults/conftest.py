"""Faults on each engine, for those that ask for it."""

import pytest

from tests.support import engines


@pytest.fixture(params=engines.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """For tests whose processes share a board of any kind: `usefixtures("engine")`."""
    monkeypatch.setattr(engines, "chosen", request.param)
    return str(request.param)
