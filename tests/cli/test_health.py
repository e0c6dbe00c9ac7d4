"""`swarm doctor` and `swarm init`: is everything there, and how is it mended?"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.settings import Settings, load_settings
from tests.cli.conftest import WithModel
from tests.support.board import House
from tests.support.brain import Brain
from tests.support.here import Here
from tests.support.openai_server import Answer, refused

KEY = "sk-very-secret-1234"


@pytest.fixture
def swarm(project: Path) -> Here:
    here = Here(project)
    here.env["OPENAI_API_KEY"] = KEY
    return here


def findings(swarm: Here, *words: str) -> dict[str, dict[str, str]]:
    said = json.loads(swarm("doctor", "--json", *words).out)
    return {one["check"]: one for one in said["findings"]}


async def a_task(house: House) -> None:
    await house.add()


def test_a_sound_project_is_well_and_the_key_stays_secret(swarm: Here) -> None:
    swarm.arranged(a_task)

    done = swarm("doctor", "--offline")

    assert (done.code, done.err) == (0, "")
    assert "OPENAI_API_KEY is set" in done.out
    assert KEY not in done.out
    assert done.out.endswith("All is well that was looked at.\n")


def test_without_a_key_the_doctor_says_how_to_mend_it(project: Path) -> None:
    done = Here(project)("doctor")

    assert done.code == 3
    assert "set OPENAI_API_KEY" in done.out
    assert done.out.endswith("1 thing must be mended.\n")


def test_every_broken_file_is_named_at_once(swarm: Here) -> None:
    folder = swarm.project / ".swarm"
    (folder / "settings.yaml").write_text("limits: {max_cycles: 0}\n")
    (folder / "agents.yaml").write_text("agents: {pat: {role: plumber}}\n")
    (folder / "swarm.db").write_bytes(b"this is no database" * 100)

    found = findings(swarm, "--offline")

    broken = {name for name, one in found.items() if one["level"] == "mend"}
    assert broken == {"settings", "crew", "store"}
    assert "settings.yaml:1:22" in found["settings"]["text"]
    assert swarm("doctor", "--offline").code == 3


def test_a_board_with_a_broken_promise_is_found(swarm: Here) -> None:
    swarm.arranged(a_task)
    with closing(sqlite3.connect(swarm.project / ".swarm" / "swarm.db")) as db, db:
        db.execute("UPDATE tasks SET claimable = NULL")

    found = findings(swarm, "--offline")

    assert found["board"]["level"] == "mend"
    assert "report it" in found["board"]["mend"]


def test_a_claim_of_a_process_that_is_gone_is_a_note_with_the_way_on(swarm: Here) -> None:
    async def story(house: House) -> str:
        task = await house.add()
        await house.claim()
        return task.id

    task_id = swarm.arranged(story)

    found = findings(swarm, "--offline")

    assert found["claims"]["level"] == "note"
    assert task_id in found["claims"]["text"]
    assert "swarm work" in found["claims"]["mend"]


def test_a_server_that_answers_is_well_for_one_call(with_model: WithModel) -> None:
    asked = []

    def brain(call: dict[str, object]) -> Answer:
        asked.append(call)
        return Answer("ready")

    done = with_model(brain)("doctor")

    assert done.returncode == 0
    assert "'model-a' answers (one call, 10 tokens)" in done.stdout
    assert done.stdout.endswith("All is well.\n")
    assert len(asked) == 1


def test_a_model_that_refuses_is_found(with_model: WithModel) -> None:
    done = with_model(lambda _: refused(404, "no such model"))("doctor")

    assert done.returncode == 3
    assert "mend    model" in done.stdout


def test_init_makes_files_that_change_nothing_and_overwrites_none(project: Path) -> None:
    swarm, folder = Here(project), project / ".swarm"

    first = swarm("init")
    (folder / "agents.yaml").write_text("mine")
    second = swarm("init")

    assert first.out.count("made  ") == 3
    assert second.out.count("kept  ") == 3
    assert (folder / "agents.yaml").read_text() == "mine"
    assert (folder / ".gitignore").read_text() == "swarm.db*\nworktrees/\n"
    assert load_settings(project, {}) == Settings()


def test_the_crew_of_init_is_the_crew_without_it(project: Path) -> None:
    swarm = Here(project)
    before = json.loads(swarm("agents", "--json").out)["agents"]

    swarm("init")

    assert json.loads(swarm("agents", "--json").out)["agents"] == before


def test_a_line_of_the_settings_that_is_uncommented_takes_effect(project: Path) -> None:
    Here(project)("init")
    file = project / ".swarm" / "settings.yaml"
    text = file.read_text().replace("# limits:", "limits:")

    file.write_text(text.replace("#   max_cycles: 3", "  max_cycles: 7"))

    assert load_settings(project, {}).limits.max_cycles == 7


def test_init_opens_a_folder_to_git_that_a_request_had_closed(project: Path) -> None:
    (project / ".swarm" / ".gitignore").write_text("*\n")

    Here(project)("init")

    assert (project / ".swarm" / ".gitignore").read_text() == "swarm.db*\nworktrees/\n"


def test_init_writes_through_no_link(project: Path, tmp_path: Path) -> None:
    (project / ".swarm" / "settings.yaml").symlink_to(tmp_path / "elsewhere")

    done = Here(project)("init")

    assert done.code == 0
    assert not (tmp_path / "elsewhere").exists()


def test_a_crew_at_work_is_well(with_model: WithModel, project: Path) -> None:
    with_model(Brain())("run", "Write it")

    assert findings(Here(project), "--offline")["board"]["level"] == "ok"
