"""What can be handed in, and what is refused with one sentence and nothing added."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core import Swarm
from tests.cli.conftest import WithModel
from tests.support.brain import Brain
from tests.support.terminal import Command


def added(swarm: Command, *words: str, text: str = "") -> str:
    """What the crew would be given."""
    done = swarm("add", "--json", *words, text=text)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(swarm.project / ".swarm" / "swarm.db")) as db:
        rows = db.execute(
            "SELECT description FROM tasks WHERE id = ?", [json.loads(done.stdout)["id"]]
        )
        return str(rows.fetchone()[0])


def on_the_board(project: Path) -> int:
    store = project / ".swarm" / "swarm.db"
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store)) as db:
        count: int = db.execute("SELECT count(*) FROM tasks").fetchone()[0]
    return count


@pytest.fixture
def files(project: Path) -> Path:
    (project / "brief.md").write_text("Compare caches\nfor a shop", encoding="utf-8")
    (project / "notes.txt").write_text("Budget: 20 euros\n", encoding="utf-8")
    (project / "photo.png").write_bytes(b"\x89PNG\0\0")
    (project / "latin.txt").write_bytes("Größe".encode("latin-1"))
    (project / "empty.txt").write_text(" \n")
    (project / "large.txt").write_text("x" * (256 * 1024 + 1))
    (project / "folder").mkdir()
    return project


def test_several_words_are_one_request(swarm: Command) -> None:
    assert added(swarm, "Compare", "two caches") == "Compare two caches"


def test_words_behind_two_dashes_are_part_of_the_request(swarm: Command) -> None:
    assert added(swarm, "Explain", "--", "--fast", "please") == "Explain --fast please"


def test_a_file_and_stdin_can_hold_the_request(swarm: Command, files: Path) -> None:
    assert added(swarm, "-f", "brief.md") == "Compare caches\nfor a shop"
    assert added(swarm, "-", text="From a pipe\n") == "From a pipe"


def test_attached_files_stand_below_the_request_under_their_names(
    swarm: Command, files: Path
) -> None:
    text = added(swarm, "Sum up", "--attach", "notes.txt", "--attach", "-", text="piped")

    assert text.startswith("Sum up\n\n--- Attached file: notes.txt ---\nBudget: 20 euros\n")
    assert "--- Attached file: stdin ---\npiped\n" in text


REFUSED = [
    (["run", "--fast", "do it"], 2, ["--fast", "behind --"]),
    (["add", "-x", "do it"], 2, ["-x"]),
    (["run"], 2, ["empty"]),
    (["run", "  "], 2, ["empty"]),
    (["run", "-f", "empty.txt"], 2, ["empty"]),
    (["run", "-"], 2, ["empty"]),
    (["run", "words", "-f", "brief.md"], 2, ["twice", "-f"]),
    (["run", "words", "-"], 2, ["twice"]),
    (["run", "-f", "missing.txt"], 2, ["missing.txt", "no file"]),
    (["run", "-f", "folder"], 2, ["folder", "text file"]),
    (["run", "-f", "photo.png"], 2, ["photo.png", "binary"]),
    (["run", "-f", "latin.txt"], 2, ["latin.txt", "UTF-8"]),
    (["run", "words", "--attach", "photo.png"], 2, ["photo.png", "binary"]),
    (["add", "-f", "large.txt"], 2, ["262,144", "limits.request_bytes"]),
    (["run", "words", "-o", "folder"], 2, ["folder"]),
    (["run", "words", "-o", "nowhere/answer.md"], 2, ["nowhere/answer.md", "can't be written"]),
    (["run", "words"], 3, ["OPENAI_API_KEY"]),
    (["add", "words", "--complexity", "hard"], 2, ["hard", "simple"]),
    (["add", "words", "--max-cycles", "11"], 2, ["11", "between 1 and 10"]),
    (["add", "words", "--max-cycles", "0"], 2, ["between 1 and 10"]),
    (["add", "words", "--max-cycles", "many"], 2, ["many"]),
    (["add", "words", "--depends-on", "zzzz"], 4, ["zzzz"]),
    (["run", "words", "--follow", "zzzz"], 4, ["zzzz"]),
    (["run", "words", "-C", "missing"], 3, ["missing"]),
    (["rnu", "words"], 2, ["rnu", "run"]),
]


def test_bad_input_is_one_sentence_and_nothing_is_added(swarm: Command, files: Path) -> None:
    ran = swarm.in_turn([words for words, _, _ in REFUSED])

    for (words, code, said), done in zip(REFUSED, ran, strict=True):
        assert (done.returncode, done.stdout) == (code, ""), (words, done.stderr)
        assert done.stderr.startswith("swarm: "), (words, done.stderr)
        assert done.stderr.count("\n") == 1, (words, done.stderr)
        assert all(word in done.stderr for word in said), (words, done.stderr)
    assert on_the_board(files) == 0


def test_an_unknown_flag_is_never_taken_for_a_request(with_model: WithModel) -> None:
    brain = Brain()

    done = with_model(brain)("run", "--fast", "do it")

    assert done.returncode == 2
    assert done.stderr.startswith("swarm: Unknown option: --fast")
    assert brain.asked == []


async def test_the_beginning_of_an_id_that_fits_many_tasks_is_refused(swarm: Command) -> None:
    async with Swarm.open(swarm.project, env={}) as board:
        first = [(await board.add(f"Request {number}")).id[0] for number in range(33)]
    double = next(letter for letter in first if first.count(letter) > 1)

    done = swarm("add", "More", "--depends-on", double)

    assert done.returncode == 4
    assert "type more of the id" in done.stderr


def test_a_request_over_the_limit_reaches_no_model(with_model: WithModel, files: Path) -> None:
    brain = Brain()

    done = with_model(brain)("run", "-f", "large.txt")

    assert done.returncode == 2
    assert brain.asked == []
