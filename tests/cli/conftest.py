"""A project folder, and the command in it against a scripted model."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.brain import Brain
from tests.support.openai_server import Answer
from tests.support.openai_server import Brain as ServerBrain
from tests.support.terminal import Command, model_server

WithModel = Callable[[Brain | ServerBrain], Command]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".swarm").mkdir(parents=True)
    return folder


@pytest.fixture
def swarm(project: Path) -> Command:
    """Without any model."""
    return Command(project)


@pytest.fixture
def with_model(project: Path) -> Iterator[WithModel]:
    """The command with a model server behind it."""
    with ExitStack() as servers:

        def start(brain: Brain | ServerBrain) -> Command:
            talk = (
                (lambda asked: Answer(brain(asked["messages"])))
                if isinstance(brain, Brain)
                else brain
            )
            return Command(project, servers.enter_context(model_server(talk)))

        yield start
