"""The documents say what the code does, and only the board's rooms write tasks."""

import ast
import re
from pathlib import Path

from core.domain.events import EVENT_OF, EventType
from core.domain.steps import TABLE, Place, Step

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()

Moves = set[tuple[str, str, str]]


def _moves() -> Moves:
    return {
        (origin.value, target.value, step.value)
        for step, row in TABLE.items()
        for origin, targets in row.items()
        for target in targets
    }


def _drawn() -> Moves:
    names = {place.value.replace("(", "_").replace(")", ""): place.value for place in Place}
    names["[*]"] = Place.NEW.value
    drawn = re.findall(r"^    (\S+) --> (\S+): (.+)$", ARCHITECTURE, re.MULTILINE)
    return {
        (names[origin], names[target], step)
        for origin, target, steps in drawn
        for step in steps.split(", ")
    }


def test_the_diagram_shows_every_move_of_the_table_but_cancel() -> None:
    moves = {move for move in _moves() if move[2] != Step.CANCEL.value}

    assert _drawn() == moves


def test_the_written_table_is_the_table_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+ → .+) \| `(\w+)` \|$", ARCHITECTURE, re.MULTILINE)

    written = {
        (origin, target, step)
        for step, cell, _ in rows
        for origin, targets in (part.split(" → ") for part in cell.split(" · "))
        for target in targets.split(", ")
        if step != Step.CANCEL.value
    }
    assert written == {move for move in _moves() if move[2] != Step.CANCEL.value}
    assert {step: event for step, _, event in rows} == {
        step.value: event.value for step, event in EVENT_OF.items()
    }


def test_cancel_leads_from_everywhere_but_completed() -> None:
    untouched = {Place.NEW, Place.COMPLETED, Place.CANCELLED}

    assert set(TABLE[Step.CANCEL]) == set(Place) - untouched
    for place, targets in TABLE[Step.CANCEL].items():
        begun = place is Place.MERGE_BEGUN
        assert targets == ((Place.MERGE_BEGUN,) if begun else (Place.CANCELLED,))


def test_the_list_of_events_is_closed() -> None:
    steps, others = ARCHITECTURE.split("## Events")
    named = set(re.findall(r"`(\w+)` \|$", steps, re.MULTILINE))
    named |= set(re.findall(r"^\| `(\w+)` \|", others, re.MULTILINE))

    assert named == {event.value for event in EventType}


def test_every_file_that_architecture_names_is_there() -> None:
    drawing = ARCHITECTURE.split("```")[1]
    names = set(re.findall(r"[\w/]+\.py", drawing))

    missing = [name for name in names if not list(ROOT.rglob(f"*{name}"))]
    assert missing == []


def test_only_the_boards_rooms_write_tasks() -> None:
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "core").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("put_task", "add_task")
        if path.parent.name != "store"
    }

    assert writers == {"core/claiming.py", "core/consequences.py", "core/recovery.py"}


def test_no_room_waits_by_sleeping_in_a_loop() -> None:
    """Waiting is by the bell. What sleeps: the wait for another process's lock, for a database
    that is away or a step that was in the way of another, and for a model server's turn; the
    heartbeat, a live view between two pictures, and a scripted model that plays a slow one."""
    sleepers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "core").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "sleep"
    }

    assert sleepers == {
        "core/cli/live.py",
        "core/clock.py",
        "core/llm/gate.py",
        "core/llm/scripted.py",
        "core/orchestrator.py",
        "core/retrying.py",
        "core/store/postgres.py",
        "core/store/postgres_sessions.py",
        "core/store/postgres_wakes.py",
        "core/store/sqlite_file.py",
    }
