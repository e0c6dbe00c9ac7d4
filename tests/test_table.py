"""The table of steps, row by row and gap by gap, on a real board."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.domain.events import EVENT_OF
from core.domain.plan import NewTask
from core.domain.steps import CONDITIONS, TABLE, Place, Step, place_of
from core.domain.task import Kind, Task
from core.errors import IllegalTransition, SwarmError
from core.store.protocol import Transaction
from tests.support.acts import ACTS, PART, Act
from tests.support.board import House, open_house
from tests.support.container_situations import MILESTONES, REQUESTS
from tests.support.database import everything_in
from tests.support.pictures import Pictures
from tests.support.situations import TASKS, Doing, Situation

SITUATIONS = (*TASKS, *REQUESTS, *MILESTONES)
MOVES = [
    pytest.param(situation, doing, to, id=f"{situation}: {_name}")
    for situation in SITUATIONS
    for doing, to in situation.moves.items()
    for _name in [f"{doing if isinstance(doing, Step) else doing[1].__name__} to {to}"]
]
MAKES_ITS_OWN_SITUATION = {
    # Its dependency would be lost first, and that moves the task.
    (Step.DEPENDENCY_BACK, Place.PENDING),
    # Its dependency is lost already, and a way back moves the task.
    (Step.DEPENDENCY_LOST, Place.BLOCKED_DEPENDENCY),
    (Step.STALE, Place.BLOCKED_DEPENDENCY),
}

FINDS_NOTHING = {
    Step.CLAIM_NEXT,
    Step.CLAIM_CRITIQUE,
    Step.CLAIM_CLOSE_OUT,
    Step.CLAIM_MERGE,
    Step.ADD_CRITIQUE,
    Step.NO_ADVICE,
    Step.STALE_CRITIQUE,
    Step.TIMEOUT,
}
"""Steps that look for a task; all others name one, and say why they can't."""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Pictures:
    return Pictures(tmp_path_factory)


def step_and_act(doing: Doing) -> tuple[Step, Act]:
    return (doing, ACTS[doing]) if isinstance(doing, Step) else doing


def rows_of_the_table() -> Iterator[tuple[Step, Place, Place]]:
    for step, row in TABLE.items():
        for place, targets in row.items():
            for target in targets:
                yield step, place, target


@pytest.mark.parametrize(("situation", "doing", "to"), MOVES)
async def test_an_allowed_step_leads_where_the_table_says(
    situation: Situation, doing: Doing, to: Place, pictures: Pictures, tmp_path: Path
) -> None:
    step, act = step_and_act(doing)
    walked: list[tuple[Task | None, Task]] = []

    async def watch(_: Transaction, before: Task | None, after: Task) -> None:
        walked.append((before, after))

    async with pictures.house(situation, tmp_path, listeners=(watch,)) as (house, task):
        told = await house.told()

        await act(house, task)

        moves = [(place_of(b), place_of(a)) for b, a in walked if b is not None and a.id == task.id]
        events = (await house.board.events(0))[len(told) :]
        assert (situation.place, to) in moves
        assert EVENT_OF[step] in [event.type for event in events if event.task == task.id]


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
async def test_any_other_step_is_refused_or_finds_nothing_and_changes_nothing(
    situation: Situation, pictures: Pictures, tmp_path: Path
) -> None:
    async with pictures.house(situation, tmp_path) as (house, task):
        before = everything_in(tmp_path)

        wrong = []
        for step in others_than(situation, task):
            refused = await is_refused(house, step, task)
            after = everything_in(tmp_path)
            if after != before or not (refused or step in FINDS_NOTHING):
                wrong.append(step)
            before = after

        assert wrong == []


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
async def test_a_condition_moves_nothing_from_where_it_does_not_apply(
    situation: Situation, pictures: Pictures, tmp_path: Path
) -> None:
    allowed = {step_and_act(doing)[0] for doing in situation.moves}
    others = (Step.DEPENDENCY_LOST, Step.DEPENDENCY_BACK, Step.STALE, Step.PARENT_OPENED)
    async with pictures.house(situation, tmp_path) as (house, task):
        told = await house.told()

        tries = [
            step
            for step in others
            if step not in allowed and (step, situation.place) not in MAKES_ITS_OWN_SITUATION
        ]
        for step in tries:
            await is_refused(house, step, task)

        events = (await house.board.events(0))[len(told) :]
        ours = [event.type for event in events if event.task == task.id]
        assert not {EVENT_OF[step] for step in tries}.intersection(ours)
        assert task.is_container or place_of(await house.task(task)) is situation.place


def others_than(situation: Situation, task: Task) -> list[Step]:
    """The commands that are not possible here; a child is never possible below a task."""
    allowed = {step_and_act(doing)[0] for doing in situation.moves}
    conditions = CONDITIONS if task.is_container else CONDITIONS - {Step.PARENT_OPENED}
    return [step for step in ACTS if step not in allowed and step not in conditions]


async def is_refused(house: House, step: Step, task: Task) -> bool:
    try:
        await ACTS[step](house, await house.task(task))
    except SwarmError:
        return True
    return False


def test_every_place_is_a_situation() -> None:
    places = {situation.place for situation in SITUATIONS}

    assert places == set(Place) - {Place.NEW}


def test_every_step_can_be_tried() -> None:
    assert ACTS.keys() == set(Step) - {Step.ADD}


def test_no_row_of_the_table_is_dead() -> None:
    reached = {
        (step_and_act(doing)[0], situation.place, to)
        for situation in SITUATIONS
        for doing, to in situation.moves.items()
    }

    dead = [row for row in rows_of_the_table() if row not in reached and row[0] is not Step.ADD]

    assert dead == []


@pytest.mark.parametrize(
    ("kind", "place"),
    [(Kind.TASK, Place.PENDING), (Kind.MILESTONE, Place.PENDING), (Kind.IDEA, Place.IDEA)],
)
async def test_what_is_added_below_a_waiting_request_is_pending_or_an_idea(
    kind: Kind, place: Place, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house:
        request, _ = await house.planned(PART)

        added = await house.board.add(NewTask(title="more", kind=kind), parent=request.id)

        assert place_of(added) is place


TAKES_CHILDREN = {
    "waiting",
    "waiting for nobody",
    "waiting for a redone child",
    "waiting for a retried child",
    "close-out",
    "close-out for the last time",
    "close-out of nothing",
    "completed",
    "failed close-out",
    "nothing completed",
    "nothing completed, nothing failed",
}


@pytest.mark.parametrize("situation", [*REQUESTS, *MILESTONES], ids=str)
async def test_a_child_is_added_where_a_close_out_will_see_it_and_nowhere_else(
    situation: Situation, pictures: Pictures, tmp_path: Path
) -> None:
    async with pictures.house(situation, tmp_path) as (house, parent):
        if situation.name.partition(": ")[2] in TAKES_CHILDREN:
            child = await house.board.add(PART, parent=parent.id)

            assert place_of(child) is Place.PENDING
            assert place_of(await house.task(parent)) is Place.WAITING
        else:
            before = everything_in(tmp_path)

            with pytest.raises(IllegalTransition):
                await house.board.add(PART, parent=parent.id)

            assert everything_in(tmp_path) == before
