"""Which model the crew uses: one that is named, else a server, else one that is here."""

from pathlib import Path

import pytest

from core import Swarm
from core.crew import MannerName
from core.errors import BadConfig, NotOnThisMachine
from core.llm.scripted import ScriptedLLM
from core.local_models.catalogue import QWEN, SMOLLM, Listed
from core.local_models.choice import chosen, described, meant, with_crews_wish
from core.local_models.shelf import Shelf

KEY, URL = {"OPENAI_API_KEY": "a-key"}, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}


def put_here(folder: Path, *models: Listed) -> dict[str, str]:
    """Files of the right size and nothing in them."""
    shelf = Shelf(folder)
    for model in models:
        shelf.file(model).parent.mkdir(parents=True)
        with shelf.file(model).open("wb") as file:
            file.truncate(model.size_bytes)
    return {"SWARM_MODELS": str(folder)}


def test_without_a_server_the_default_is_used_where_it_is_here(tmp_path: Path) -> None:
    assert meant(put_here(tmp_path, SMOLLM, QWEN)) == QWEN.name


def test_without_a_server_another_one_that_is_here_is_used_too(tmp_path: Path) -> None:
    assert meant(put_here(tmp_path, SMOLLM)) == SMOLLM.name


def test_nothing_is_used_where_nothing_is_here(tmp_path: Path) -> None:
    assert meant({"SWARM_MODELS": str(tmp_path)}) is None


@pytest.mark.parametrize("server", [KEY, URL, {**KEY, "SWARM_MODEL": QWEN.name}])
def test_a_server_comes_before_a_model_that_is_here(server: dict[str, str], tmp_path: Path) -> None:
    assert meant(put_here(tmp_path, QWEN) | server) is None


@pytest.mark.parametrize(
    ("named", "used"),
    [
        ("embedded", QWEN.name),
        ("embedded:smollm2-135m", SMOLLM.name),
        ("/models/own.gguf", "/models/own.gguf"),
        ("embedded:/models/own.gguf", "/models/own.gguf"),
    ],
)
def test_a_model_that_is_named_comes_before_a_server(named: str, used: str, tmp_path: Path) -> None:
    assert meant(put_here(tmp_path, QWEN, SMOLLM) | KEY | {"SWARM_MODEL": named}) == used


def test_the_name_of_a_servers_model_never_means_one_that_is_here(tmp_path: Path) -> None:
    assert meant(put_here(tmp_path, QWEN) | {"SWARM_MODEL": "gpt-5-mini"}) is None


def test_a_model_that_is_not_here_is_refused_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(NotOnThisMachine, match=r"swarm models pull qwen2\.5-coder-1\.5b"):
        chosen(QWEN.name, {"SWARM_MODELS": str(tmp_path)})


def test_a_name_nobody_knows_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(NotOnThisMachine, match="did you mean 'smollm2-135m'"):
        chosen("smolm-135m", {"SWARM_MODELS": str(tmp_path)})


def test_what_is_shown_says_that_facts_may_be_wrong() -> None:
    assert described(QWEN.name) == "qwen2.5-coder-1.5b (1.5B on your CPU: facts may be wrong)"
    assert described("/models/own.gguf") == "own.gguf (on your CPU: facts may be wrong)"


def test_a_crew_may_name_a_model_of_this_machine_for_all_its_agents(tmp_path: Path) -> None:
    env = put_here(tmp_path, QWEN, SMOLLM) | KEY

    assert meant(with_crews_wish(env, [None, "embedded:smollm2-135m", None])) == SMOLLM.name
    assert meant(with_crews_wish(env, [None, "gpt-5-mini"])) is None


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (["embedded", "gpt-5-mini"], "name that one and no other"),
        (["embedded:smollm2-135m", "embedded:qwen2.5-coder-1.5b"], "name that one and no other"),
        (["embedded:/somewhere/hostile.gguf"], "no project chooses what is loaded"),
    ],
)
def test_a_crew_can_neither_mix_models_nor_choose_a_file(models: list[str], words: str) -> None:
    with pytest.raises(BadConfig, match=words):
        with_crews_wish(KEY, models)


async def test_a_model_that_is_handed_in_is_asked_in_full_whatever_is_here(
    tmp_path: Path,
) -> None:
    env = put_here(tmp_path / "models", QWEN)

    async with Swarm.open(tmp_path, llm=ScriptedLLM([]), env=env) as swarm:
        assert swarm.embedded is None
        assert {member.manner for member in swarm.members} == {MannerName.FULL}
