"""Every story is told on each engine."""

import pytest

from tests.support import engines


@pytest.fixture(autouse=True, params=engines.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(engines, "chosen", request.param)
    return str(request.param)
