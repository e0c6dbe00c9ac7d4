"""Runs a test of the contract once for each store."""

import pytest

from tests.store.stores import STORES, Backend


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
def backend(request: pytest.FixtureRequest) -> Backend:
    assert isinstance(request.param, Backend), "STORES holds backends"
    return request.param
