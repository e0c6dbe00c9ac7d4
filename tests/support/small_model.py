"""The small model for tests: the one `make test` pulls, never the large one."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from core.local_models.catalogue import SMOLLM
from core.local_models.shelf import Shelf


def small_model() -> Path:
    """Its file; a test without it is skipped, and where CI runs it fails."""
    if find_spec("xllamacpp") is None:
        _missing("the extra 'local' is not installed, or there is none for this platform")
    shelf = Shelf.of_user(os.environ)
    if not shelf.has(SMOLLM):
        _missing(f"the model {SMOLLM.name} is not here: swarm models pull {SMOLLM.name}")
    return shelf.ready(SMOLLM)


def _missing(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
